"""A bank's file from the command line: shown first, recorded once, and what is uncertain is written for a review."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.cli import main
from tests.e2e.test_rerate import serving
from tests.handlers.test_statements import record
from tests.support.bank_files import camt, entry
from tests.support.stored_statements import end_of_october, register, seal_statements
from tests.support.system import World

OCTOBER = "S-000001"
MAP = '[numbers]\ndecimal = ","\n[line]\ndate = "{Day}"\namount = "{Sum}"\ncurrency = "GBP"\nreference = "{Text}"\n'


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[World, str]]:
    """121.00 GBP of October is open, over HTTP."""
    with end_of_october() as world:
        register(world, "42", scheme="standard", percent="21")
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        seal_statements(world)
        with serving(world) as url:
            yield world, url


def open_of(world: World) -> list[str]:
    world.drain()
    return [one["open"] for one in world.read("/receivables")["items"]]


def test_the_same_file_twice_records_once_and_the_rest_is_written_for_review(
    served: tuple[World, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world, url = served
    file, review = tmp_path / "bank.xml", tmp_path / "review.ndjson"
    named, other = entry("21.00", OCTOBER, currency="GBP"), entry("99.00", "=1+1", currency="GBP", iban="")
    file.write_bytes(camt(named, other, closing="220.00"))
    command = ["payments", str(file), "--url", url]

    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "it names S-000001 and leaves 100.00 GBP open" in shown
    assert shown.endswith(
        "2 lines: 1 certain, 0 to review, 0 recorded before, 1 without a match\n"
        "nothing is recorded: --record records what is certain\n"
    )
    assert open_of(world) == ["121.00"]

    assert main([*command, "--record"]) == 0
    assert capsys.readouterr().out.endswith("payments: 1 recorded\n")
    assert open_of(world) == ["100.00"]
    assert main([*command, "--record"]) == 0
    assert "1 recorded before" in capsys.readouterr().out
    assert open_of(world) == ["100.00"]

    excess = entry("130.00", OCTOBER, currency="GBP", reference="B9")
    file.write_bytes(camt(named, excess, closing="250.00"))
    assert main([*command, "--record", "--json", "--review", str(review)]) == 1
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [(one["match"], one["verdicts"]) for one in found["lines"]] == [("recorded", []), ("excess", [])]
    assert [json.loads(one)["data"]["amount"] for one in review.read_text("utf-8").splitlines()] == ["100.00", "30.00"]
    assert open_of(world) == ["100.00"]
    assert main(["send", str(review), "--url", url]) == 0
    world.drain()
    assert world.read("/receivables")["items"][0]["unallocated"] == "30.00"


def test_a_map_reads_other_csv(served: tuple[World, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, url = served
    csv_map = tmp_path / "map.toml"
    csv_map.write_text(MAP)
    (tmp_path / "bank.csv").write_text("Day;Sum;Text\n2026-11-05;7,00;rent\n")
    command = ["payments", str(tmp_path / "bank.csv"), "--url", url]
    assert main([*command, "--map", str(csv_map), "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["lines"]
    assert (line["date"], line["amount"], line["currency"], line["match"]) == ("2026-11-05", "7.00", "GBP", "none")


@pytest.mark.parametrize(
    "case",
    [
        ("Day;Sum;Text\n2026-11-05;7,00;rent\n", [], "the body has the columns Day;Sum;Text; send UTF-8"),
        ("Day;Sum;Text\n2026-11-05;7.00;rent\n", ["--map"], "line 2: line.amount: Sum is '7.00'"),
        ("Day;Text\n2026-11-05;rent\n", ["--map"], "map.toml: line.amount: the file has no column 'Sum'"),
        ("<a", ["--format", "camt.053"], "the body is not XML"),
    ],
)
def test_a_file_that_cannot_be_read_ends_with_2(
    served: tuple[World, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    case: tuple[str, list[str], str],
) -> None:
    content, options, message = case
    (csv_map := tmp_path / "map.toml").write_text(MAP)
    (file := tmp_path / "bank.csv").write_text(content)
    given = [*options, str(csv_map)] if options == ["--map"] else options
    assert main(["payments", str(file), "--url", served[1], *given]) == 2
    assert message in capsys.readouterr().err


def test_sums_that_differ_end_with_1(
    served: tuple[World, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bank.xml"
    file.write_bytes(camt(entry("7.00", "rent", currency="GBP"), closing="200.00"))
    assert main(["payments", str(file), "--url", served[1]]) == 1
    assert "give 107.00, not 200.00" in capsys.readouterr().err
