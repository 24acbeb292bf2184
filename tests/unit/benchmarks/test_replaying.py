"""What two versions must agree in before their speed is compared."""

from typing import Any

from benchmarks.replaying import agree

OLD: dict[str, Any] = {"verified": True, "lines": 2, "accounts": {"42#GBP": {"events": 2, "gross": "3.00"}}}


def test_versions_agree_in_the_figures_that_the_older_one_has() -> None:
    newer = OLD | {"accounts": {"42#GBP": {"events": 2, "gross": "3.00", "payments": "0"}}}
    assert agree(newer, OLD, 2)


def test_a_difference_in_a_figure_an_account_or_a_line_is_noticed() -> None:
    for other in (
        OLD | {"accounts": {"42#GBP": {"events": 2, "gross": "3.01"}}},
        OLD | {"accounts": {**OLD["accounts"], "43#GBP": {"events": 1}}},
        OLD | {"lines": 1},
        OLD | {"verified": False},
    ):
        assert not agree(other, OLD, 2)
