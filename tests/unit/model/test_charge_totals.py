"""Sums of charges by name and of turnover by the definition of its tiers: they add up, and go to text and back."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.charge_totals import NO_CHARGE_TOTALS, ChargeTotals
from quarterhour.model.totals import RunningTotals, Totals, add_up, differences, total

TIERS = "month/account/graduated/0=12/10000=10"
GROUP = "month/group=North%20West%2F%40/volume/0=12/10000=10"
LINE = f"commission:8.00;payment fee:1.65;listing:125.00@{TIERS};listing:-3@{GROUP}"

keys = st.sampled_from([f"{name}@{scheme}" for name in ("commission", "fee") for scheme in (TIERS, GROUP)])
figures = st.decimals(-(10**9), 10**9, places=4)
sums = st.builds(
    ChargeTotals,
    st.dictionaries(st.sampled_from(["payment fee", "platform fee"]), figures),
    st.dictionaries(keys, figures),
)


def of_event(text: str = LINE, commission: str = "9.65", position: str = "p1") -> ChargeTotals:
    return ChargeTotals.of_event(text, Decimal(commission), position)


def test_an_event_adds_its_charges_by_name_and_its_turnover_by_definition() -> None:
    found = of_event()
    assert found.amounts == {"payment fee": Decimal("1.65")}, "what is left of the commission is that of its name"
    assert found.turnover == {f"listing@{TIERS}": Decimal("125.00"), f"listing@{GROUP}": Decimal(-3)}
    assert set(found.since.values()) == {"p1"}


def test_totals_show_the_whole_commission_by_charge_and_nothing_for_plain_commission() -> None:
    totals = Totals().plus(Decimal(100), Decimal("9.65"), charges=of_event()).plus(Decimal(10), Decimal("1.25"))
    assert totals.as_dict()["charges"] == {"commission": "9.25", "payment fee": "1.65"}
    assert "charges" not in Totals().plus(Decimal(100), Decimal(8)).as_dict()
    assert Totals.of(totals.as_dict()) == totals
    assert Totals.of(json.loads(json.dumps(totals.as_dict()))).charges.since == of_event().since


def test_the_first_of_two_turnovers_keeps_its_place() -> None:
    earlier, later = of_event(position="2026-10-01T00:00:00.000Z.a"), of_event(position="2026-10-02T00:00:00.000Z.a")
    for both in (earlier + later, later + earlier):
        assert set(both.since.values()) == {"2026-10-01T00:00:00.000Z.a"}


def test_a_sum_of_nothing_keeps_its_name_and_equals_nothing() -> None:
    """An item that is updated keeps its attributes, so none may vanish; a repair sees no difference."""
    nothing = of_event() + -of_event()
    assert nothing == NO_CHARGE_TOTALS
    assert Totals(charges=nothing) == Totals()
    assert nothing.as_dict()["charges"] == {"payment fee": "0.00"}


@pytest.mark.parametrize("text", ["fee", "fee:x", "fee:1;fee:2", f"fee:1@{TIERS};", "commission:1", "a/b:9.65"])
def test_a_text_that_is_no_charges_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="charges"):
        of_event(text)


@given(sums, sums, sums)
def test_sums_do_not_depend_on_their_order_and_can_be_taken_back(
    one: ChargeTotals, two: ChargeTotals, three: ChargeTotals
) -> None:
    assert (one + two) + three == one + (three + two)
    assert one + two + -two == one
    assert ChargeTotals.of(json.loads(json.dumps(one.as_dict()))) == one


@given(st.lists(sums, max_size=5))
def test_running_totals_add_up_as_totals_do(several: list[ChargeTotals]) -> None:
    running = RunningTotals()
    for one in several:
        running.add(Decimal(1), Decimal(0), charges=one)
    assert running.totals() == total(Totals(1, Decimal(1), charges=one) for one in several)
    assert add_up({}, (("", Totals(charges=one)) for one in several)).get("", Totals()) == Totals(
        charges=total(Totals(charges=one) for one in several).charges
    )


def test_totals_that_differ_in_a_charge_alone_differ() -> None:
    left, right = Totals(charges=of_event()), Totals(charges=of_event(LINE.replace("1.65", "1.64"), "9.64"))
    found = differences({"a": left}, {"a": right})["a"].charges
    assert {name: value for name, value in found.amounts.items() if value} == {"payment fee": Decimal("0.01")}
