"""What tiers charge so far, against plain sums: of a month, a calendar quarter, a group, and of two rate cards."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.counters.tiers import charged, months_of, months_of_groups
from quarterhour.model.charge_totals import ChargeTotals
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals

NOVEMBER = Period(2026, 11)
STEPS = "0=12/1000=10/5000=8"
GRADUATED = f"commission@month/account/graduated/{STEPS}"
VOLUME = f"commission@month/account/volume/{STEPS}"
SPAN_OF_THREE = f"commission@quarter/account/graduated/{STEPS}"
GROUP = f"commission@month/group=North%20West/graduated/{STEPS}"


def month(since: str = "p", **turnover: str) -> ChargeTotals:
    """Return the turnover of a month, by the names of the constants above."""
    found = {globals()[name]: Decimal(text) for name, text in turnover.items()}
    return ChargeTotals({}, found, dict.fromkeys(found, since))


def so_far(
    own: dict[Period, ChargeTotals], of_group: dict[Period, ChargeTotals] | None = None, at: Period = NOVEMBER
) -> Any:
    return charged(at, Totals(commission=Decimal("3.00"), charges=own[at]), own, of_group or {})


def costs(turnover: str) -> Decimal:
    """Return what a graduated turnover costs: 12 % to 1,000, 10 % to 5,000, then 8 %."""
    rest = Decimal(turnover)
    if rest <= 1000:
        return rest * 12 / 100
    if rest <= 5000:
        return 120 + (rest - 1000) / 10
    return 520 + (rest - 5000) * 8 / 100


@pytest.mark.parametrize("turnover", ["0.01", "-12.50", "999.99", "1000", "1000.01", "5000", "7654.321"])
def test_a_month_shows_the_tier_reached_and_what_is_missing_to_the_next(turnover: str) -> None:
    shown = so_far({NOVEMBER: month(GRADUATED=turnover)})
    (tiers,) = shown["tiers"]
    assert Decimal(tiers["commission"]) == costs(turnover)
    assert Decimal(shown["charged"]) == 3 + costs(turnover)
    percent, end = ("12", "1000") if float(turnover) < 1000 else ("10", "5000") if float(turnover) < 5000 else ("8", "")
    assert (tiers["percent"], tiers["to"] or "") == (percent, end)
    assert tiers["missing"] == (f"{Decimal(end) - Decimal(turnover)}" if end else None)
    assert sum(Decimal(one["commission"]) for one in tiers["steps"]) == costs(turnover)


def test_by_volume_the_reached_percentage_is_that_of_all() -> None:
    (tiers,) = so_far({NOVEMBER: month(VOLUME="1500")})["tiers"]
    assert Decimal(tiers["commission"]) == 150
    assert [(one["percent"], one["turnover"]) for one in tiers["steps"]] == [("10", "1500")]


def test_plain_totals_show_no_tiers() -> None:
    shown = charged(NOVEMBER, Totals(1, Decimal(9), commission=Decimal(1)), {}, {})
    assert not {"tiers", "charged", "charges"} & shown.keys()


def test_a_calendar_quarter_goes_on_in_the_tier_that_the_months_before_have_reached() -> None:
    own = {
        Period(2026, 10): month("2026-10", SPAN_OF_THREE="900"),
        NOVEMBER: month("2026-11", SPAN_OF_THREE="300"),
    }
    (tiers,) = so_far(own)["tiers"]
    assert (tiers["turnover"], tiers["percent"], tiers["missing"]) == ("1200", "10", "3800")
    assert Decimal(tiers["commission"]) == costs("1200") - costs("900") == Decimal(32)
    assert list(months_of(NOVEMBER, own[NOVEMBER])) == [Period(2026, 10), NOVEMBER]
    assert list(months_of(Period(2026, 10), own[NOVEMBER])) == [Period(2026, 10)]


def test_an_account_pays_its_share_of_what_its_group_is_charged() -> None:
    own, others = month(GROUP="300"), month(GROUP="1200")
    (tiers,) = so_far({NOVEMBER: own}, {NOVEMBER: own + others})["tiers"]
    assert list(months_of_groups(NOVEMBER, {NOVEMBER: own})) == [NOVEMBER]
    assert (tiers["group"], tiers["turnover"], tiers["percent"]) == ("North West", "1500", "10")
    assert Fraction(tiers["commission"]) == Fraction(costs("1500")) * 300 / 1500


def test_a_step_that_the_group_reaches_changes_a_month_in_which_the_account_sold_nothing() -> None:
    key = f"commission@year/group=North%20West/volume/{STEPS}"
    october, others = (ChargeTotals({}, {key: Decimal(of)}, {key: "p"}) for of in ("300", "1200"))
    own = {Period(2026, 10): october}
    assert list(months_of_groups(NOVEMBER, own)) == [Period(2026, number) for number in range(1, 12)]
    shown: Any = charged(
        NOVEMBER, Totals(commission=Decimal("3.00")), own, {Period(2026, 10): october, NOVEMBER: others}
    )
    (tiers,) = shown["tiers"]
    assert (tiers["turnover"], tiers["percent"]) == ("1500", "10")
    assert Decimal(tiers["commission"]) == 300 * (Decimal("0.10") - Decimal("0.12"))
    assert Decimal(shown["charged"]) == 3 - 6
    assert "tiers" not in charged(Period(2027, 1), Totals(), own, {})


def test_a_share_that_is_no_decimal_is_cut_off_as_on_the_statement() -> None:
    own = month(GROUP="1")
    (tiers,) = so_far({NOVEMBER: own}, {NOVEMBER: own + month(GROUP="1200")})["tiers"]
    assert tiers["commission"] == "0.11665278934221482097"


def test_of_two_rate_cards_the_earlier_one_prices_the_first_part() -> None:
    lower = f"commission@month/account/graduated/{STEPS.replace('12', '5')}"
    both = ChargeTotals({}, {GRADUATED: Decimal(800), lower: Decimal(700)}, {GRADUATED: "b", lower: "a"})
    (tiers,) = so_far({NOVEMBER: both})["tiers"]
    assert Decimal(tiers["commission"]) == 700 * Decimal("0.05") + 300 * Decimal("0.12") + 500 * Decimal("0.10")
    later = ChargeTotals(both.amounts, both.turnover, {GRADUATED: "a", lower: "b"})
    (tiers,) = so_far({NOVEMBER: later})["tiers"]
    assert Decimal(tiers["commission"]) == 800 * Decimal("0.12") + 200 * Decimal("0.05") + 500 * Decimal("0.10")


amounts = st.decimals(-(10**6), 10**6, places=2)


@given(st.lists(amounts, min_size=1, max_size=3), st.sampled_from(["graduated", "volume"]))
def test_the_months_of_a_calendar_quarter_add_up_to_what_the_whole_costs(sold: list[Decimal], mode: str) -> None:
    key = f"commission@quarter/account/{mode}/{STEPS}"
    months = {
        Period(2026, 10 + number): ChargeTotals({}, {key: amount}, {key: "p"}) for number, amount in enumerate(sold)
    }
    found = [so_far(months, at=at)["tiers"][0]["commission"] for at in months]
    total = sum(sold)
    rate = 12 if total < 1000 else 10 if total < 5000 else 8
    expected = costs(str(total)) if mode == "graduated" else total * rate / 100
    assert sum(map(Decimal, found)) == expected
