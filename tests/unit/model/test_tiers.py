from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.model.tiers import Mode, Per, Scheme, Step, Tier, scheme_of, stacked, steps_of

TEXT = "month/account/graduated/0=12/10000=10/50000=8"
VOLUME = "year/group=North%20%2F%3B%40%3D/volume/0=12/10000=10/50000=8"

amounts = st.decimals(-200_000, 200_000, places=2)
percents = st.decimals(0, 100, places=3)


@st.composite
def schemes(draw: st.DrawFn) -> Scheme:
    starts = draw(st.lists(st.decimals("0.01", 100_000, places=2), max_size=5, unique=True))
    steps = tuple(Step(start, draw(percents)) for start in (Decimal(0), *sorted(starts)))
    group = draw(st.none() | st.text(min_size=1, max_size=8))
    return Scheme(draw(st.sampled_from(Per)), group, draw(st.sampled_from(Mode)), steps)


def computed(scheme: Scheme, turnover: Decimal) -> Fraction:
    """What is charged of a turnover, in cents of it one after the other, as a person would explain it."""
    steps = [(Fraction(start), Fraction(percent) / 100) for start, percent in scheme.steps]
    left = Fraction(turnover)
    if left <= 0:
        return left * steps[0][1]
    if scheme.mode is Mode.VOLUME:
        return left * [percent for start, percent in steps if start <= left][-1]
    charged = Fraction(0)
    for start, percent in reversed(steps):
        if left > start:
            charged += (left - start) * percent
            left = start
    return charged


def charged(tiers: list[Tier]) -> Decimal:
    return money.total(tier.commission for tier in tiers)


class TestScheme:
    @pytest.mark.parametrize("text", [TEXT, VOLUME, "quarter/account/volume/0=0"])
    def test_is_written_as_it_is_parsed(self, text: str) -> None:
        assert str(Scheme.parse(text)) == text
        assert scheme_of(text) == Scheme.parse(text)

    @given(schemes())
    def test_any_scheme_comes_back_from_its_text(self, scheme: Scheme) -> None:
        text = str(scheme)
        assert Scheme.parse(text) == scheme
        assert not set(text) & set(":;,@\"' ")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "month",
            "month/account/graduated",
            "week/account/graduated/0=1",
            "month/agency/graduated/0=1",
            "month/account/flat/0=1",
            "month/account/graduated/5=1",
            "month/account/graduated/0=1/0=2",
            "month/account/graduated/0=1/20=2/10=3",
            "month/account/graduated/0=101",
            "month/account/graduated/0=-1",
            "month/account/graduated/0=1.0",
            "month/account/graduated/0",
            "month/account/graduated/0=x",
            "month/account/graduated/0=1/",
            "month/group=North West/graduated/0=1",
            "month/account/graduated/" + "/".join(f"{n}=1" for n in range(21)),
        ],
    )
    def test_other_texts_are_refused(self, text: str) -> None:
        with pytest.raises(ValueError):  # noqa: PT011 - whatever the message
            Scheme.parse(text)

    @pytest.mark.parametrize(
        ("per", "month", "first"),
        [("month", "2026-11", "2026-11"), ("quarter", "2026-11", "2026-10"), ("quarter", "2026-03", "2026-01"),
         ("year", "2026-12", "2026-01")],
    )  # fmt: skip
    def test_a_span_begins_with_its_first_month(self, per: str, month: str, first: str) -> None:
        assert str(Per(per).first(Period.parse(month))) == first

    def test_the_step_reached_begins_at_its_turnover(self) -> None:
        scheme = Scheme.parse(TEXT)
        found = [scheme.reached(Decimal(turnover))[:3] for turnover in ("-1", "0", "9999.99", "10000", "50000")]
        assert [tuple(map(str, one)) for one in found] == [
            ("0", "10000", "12"),
            ("0", "10000", "12"),
            ("0", "10000", "12"),
            ("10000", "50000", "10"),
            ("50000", "None", "8"),
        ]


class TestSteps:
    def test_graduated_charges_each_part_at_its_own_rate(self) -> None:
        assert [tuple(map(str, tier)) for tier in steps_of(Scheme.parse(TEXT), Decimal(60000))] == [
            ("0", "10000", "12", "10000", "1200.00"),
            ("10000", "50000", "10", "40000", "4000.00"),
            ("50000", "None", "8", "10000", "800.00"),
        ]

    def test_volume_charges_all_at_the_rate_reached(self) -> None:
        assert [tuple(map(str, tier)) for tier in steps_of(Scheme.parse(VOLUME), Decimal(60000))] == [
            ("50000", "None", "8", "60000", "4800.00")
        ]

    @given(schemes(), amounts)
    def test_they_add_up_to_the_turnover_and_what_is_charged_of_it(self, scheme: Scheme, turnover: Decimal) -> None:
        tiers = steps_of(scheme, turnover)
        assert money.total(tier.turnover for tier in tiers) == turnover
        assert Fraction(charged(tiers)) == computed(scheme, turnover)

    @given(schemes(), st.lists(amounts, max_size=6))
    def test_what_is_charged_step_by_step_is_what_is_charged_at_once(
        self, scheme: Scheme, turnovers: list[Decimal]
    ) -> None:
        """Whether graduated or by volume, one scheme that is stacked on itself charges as it does alone."""
        total = money.total(turnovers)
        parts = stacked([(scheme, turnover) for turnover in turnovers])
        assert money.total(charged(tiers) for tiers in parts) == charged(steps_of(scheme, total))

    @given(schemes(), amounts, amounts)
    def test_going_back_gives_back_what_was_charged(self, scheme: Scheme, start: Decimal, end: Decimal) -> None:
        forth, back = scheme.between(start, end, end), scheme.between(end, start, end)
        assert charged(forth) == -charged(back)

    def test_a_scheme_begins_where_the_one_before_it_ends(self) -> None:
        later = Scheme.parse("month/account/graduated/0=20/9000=5")
        first, second = stacked([(Scheme.parse(TEXT), Decimal(8000)), (later, Decimal(5000))])
        assert [str(tier.commission) for tier in first] == ["960.00"]
        assert [(str(tier.turnover), str(tier.commission)) for tier in second] == [
            ("1000", "200.00"),
            ("4000", "200.00"),
        ]

    def test_by_volume_each_scheme_applies_what_all_of_it_reaches(self) -> None:
        volume = Scheme.parse("month/account/volume/0=12/10000=10")
        later = Scheme.parse("month/account/volume/0=9/12000=7")
        found = stacked([(volume, Decimal(8000)), (later, Decimal(5000))])
        assert [str(charged(tiers)) for tiers in found] == ["800.00", "350.00"]
