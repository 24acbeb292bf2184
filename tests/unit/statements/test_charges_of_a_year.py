"""Months of charges with tiers against a plain computation over the lines, which shares no code with the product."""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from quarterhour.model.periods import Calendar, Period
from quarterhour.proof.verify import verify
from quarterhour.registry.agencies.agency import STANDARD, TaxProfile
from quarterhour.statements.keys import folder_of
from quarterhour.statements.plan import StatementSettings
from quarterhour.statements.releases.requests import Desired, DraftRequest
from tests.support.laws import examples
from tests.support.sealing import Objects, opening, seal
from tests.support.statements_in_memory import StatementRuns
from tests.unit.statements.three_months import at, sold

SETTINGS: Final = StatementSettings(Calendar(UTC, 3, Period(2026, 1)), "UTC", "1.0")
AGENCIES: Final = ("1", "2", "3")
PROFILES: Final = {agency: TaxProfile(STANDARD, Decimal(20), "GB123456789") for agency in AGENCIES}
MONTHS: Final = [f"2026-{month:02d}" for month in range(1, 7)]
STEPS: Final = "0=12/100=10/500=8.5"
SCHEMES: Final = [
    f"{per}/{of}/{mode}/{steps}"
    for per in ("month", "quarter", "year")
    for of in ("account", "group=North%20West")
    for mode in ("graduated", "volume")
    for steps in (STEPS, "0=7/250=20")
]


@dataclass(frozen=True, slots=True)
class Sold:
    """A made-up line: its month, agency and currency, the parts that are fixed, and what counts for tiers."""

    month: int
    agency: str
    currency: str
    commission: Decimal
    fee: Decimal
    turnover: Decimal
    scheme: str

    def charges(self) -> str:
        parts = [] if self.scheme and not self.commission else [f"commission:{self.commission}"]
        parts += [f"payment fee:{self.fee}"] if self.fee else []
        parts += [f"tiered:{self.turnover}@{self.scheme}"] if self.scheme else []
        return ";".join(parts) if self.fee or self.scheme else ""


def runs_of(lines: Sequence[Sold]) -> tuple[Objects, StatementRuns]:
    """Seal the lines of each month in one run of the reports, and release its statements after its cut-off."""
    objects: Objects = {}
    runs = StatementRuns(objects, SETTINGS, PROFILES)
    run = ("", "")
    for number, month in enumerate(MONTHS):
        some = [
            sold(
                f"{month}-15 10:{place % 15:02d}:{place // 15:02d}",
                f"s{number}-{place}",
                f"{one.turnover}",
                f"{one.agency}#{one.currency}",
                commission=f"{one.commission + one.fee}",
                commission_rate="0",
                arithmetic=f"named={one.commission + one.fee}",
                charges=one.charges(),
            )
            for place, one in enumerate(one for one in lines if one.month == number)
        ]
        run = seal(objects, f"{month.replace('-', '')}151000", f"{month.replace('-', '')}151000", some, run)
        after = str(Period.parse(month).next)
        run = seal(objects, f"{after.replace('-', '')}040000", f"{after.replace('-', '')}040000", [], run)
        runs.run(at(f"{after}-04 00:17"))
    return objects, runs


# ---------------------------------------------------------------- the plain computation


def parts_of(scheme: str) -> tuple[str, str, str, list[tuple[Fraction, Fraction]]]:
    per, of, mode, *steps = scheme.split("/")
    return per, of, mode, [(Fraction(step.split("=")[0]), Fraction(step.split("=")[1]) / 100) for step in steps]


def charge_up_to(turnover: Fraction, steps: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """What graduated steps charge of the turnover from 0."""
    if turnover <= 0:
        return turnover * steps[0][1]
    ends = [start for start, _ in steps[1:]] + [None]
    return sum(
        (
            ((turnover if end is None else min(turnover, end)) - start) * percent
            for (start, percent), end in zip(steps, ends, strict=True)
            if turnover > start
        ),
        Fraction(0),
    )


def charged_by(month: int, lines: Sequence[Sold]) -> dict[tuple[str, str], Fraction]:
    """What each account's tiers have come to from the beginning of each span to the end of a month."""
    found: dict[tuple[str, str], Fraction] = {}
    stacks: dict[tuple[str, ...], list[Sold]] = {}
    for one in lines:
        if one.scheme and one.month <= month:
            per, of, *_ = parts_of(one.scheme)
            length = {"month": 1, "quarter": 3, "year": 12}[per]
            if one.month >= month // length * length:
                owner = of if of.startswith("group") else one.agency
                stacks.setdefault((per, owner, one.currency), []).append(one)
    for stack in stacks.values():
        order = list(dict.fromkeys(one.scheme for one in stack))
        total = sum((Fraction(one.turnover) for one in stack), Fraction(0))
        start = Fraction(0)
        for scheme in order:
            _, _, mode, steps = parts_of(scheme)
            own = [one for one in stack if one.scheme == scheme]
            whole = sum((Fraction(one.turnover) for one in own), Fraction(0))
            at_ = total if mode == "volume" else start
            rate = [percent for step, percent in steps if step <= at_ or step == 0][-1]
            charge = charge_up_to(start + whole, steps) - charge_up_to(start, steps)
            for agency in {one.agency for one in own}:
                key = agency, own[0].currency
                of_agency = sum((Fraction(one.turnover) for one in own if one.agency == agency), Fraction(0))
                share = of_agency * rate if mode == "volume" or not whole else charge * of_agency / whole
                found[key] = found.get(key, Fraction(0)) + share
            start += whole
    return found


def expected(lines: Sequence[Sold]) -> Iterator[tuple[str, tuple[str, str], Fraction]]:
    """Yield what each account is charged by tiers in each month."""
    for month, name in enumerate(MONTHS):
        now = charged_by(month, lines)
        before: dict[tuple[str, str], Fraction] = {}
        for per, length in (("month", 1), ("quarter", 3), ("year", 12)):
            if month % length:
                some = [one for one in lines if one.scheme.startswith(per)]
                for key, amount in charged_by(month - 1, some).items():
                    before[key] = before.get(key, Fraction(0)) + amount
        for key in sorted({*now, *before}):
            yield name, key, now.get(key, Fraction(0)) - before.get(key, Fraction(0))


# ---------------------------------------------------------------- what the product says


def charges_in(objects: Objects, month: str, account: tuple[str, str]) -> dict[str, Decimal] | None:
    """The exact charges by name of an account's statement; ``None`` without one."""
    key = f"statements/{month}/{folder_of(account[0])}/{account[1]}/statement.json"
    if key not in objects:
        return None
    document = json.loads(objects[key])
    found: dict[str, Decimal] = {}
    for row in document["taxes"]:
        assert Decimal(row["base"]) == sum(Decimal(one["amount"]) for one in row["charges"])
        for one in row["charges"]:
            found[one["name"]] = found.get(one["name"], Decimal(0)) + Decimal(one["exact"])
    with localcontext(prec=100):
        assert sum(found.values()) == Decimal(document["commission_exact"])
    for one in document["period_charges"]:
        tiers = sum((Decimal(tier["commission"]) for tier in one["tiers"]), Decimal(0))
        assert abs(tiers - Decimal(one["charged_before"]) - Decimal(one["amount"])) < Decimal("1e-15")
    return found


def check(lines: Sequence[Sold]) -> Objects:
    """Check the statements of all months against the plain computation, and prove all files."""
    lines = sorted(lines, key=lambda one: one.month)
    objects, runs = runs_of(lines)
    for month, account, amount in expected(lines):
        found = charges_in(objects, month, account)
        shown = Fraction(0) if found is None else Fraction(found.get("tiered", Decimal(0)))
        assert abs(shown - amount) < Fraction(1, 10**15), (month, account)
    for number, month in enumerate(MONTHS):
        for agency in AGENCIES:
            for currency in ("GBP", "EUR"):
                own = [one for one in lines if (one.month, one.agency, one.currency) == (number, agency, currency)]
                found = charges_in(objects, month, (agency, currency))
                if own:
                    assert found is not None
                    assert found.get("payment fee", 0) == sum(one.fee for one in own)
                    assert found.get("commission", 0) == sum(one.commission for one in own)
    result = verify(opening(objects), objects)
    left = ("manifest.json: from:", "pays another commission")  # the reports have gaps, and made-up lines no terms
    problems = [one for one in result.problems if not any(text in one for text in left)]
    assert problems == [], problems
    assert len(runs.drafts) == result.drafts
    return objects


money_ = st.decimals(-300, 600, places=2)
made_up = st.builds(
    Sold,
    st.integers(0, 5),
    st.sampled_from(AGENCIES),
    st.sampled_from(["GBP", "GBP", "EUR"]),
    st.decimals(-5, 20, places=3),
    st.decimals(0, 2, places=2),
    money_,
    st.sampled_from([*SCHEMES, ""]),
)
few_schemes = st.lists(st.sampled_from(SCHEMES), min_size=1, max_size=3)


@settings(examples(30), phases=(Phase.explicit, Phase.generate))
@given(st.data())
def test_half_a_year_of_tiers_is_charged_as_a_plain_computation_says(data: st.DataObject) -> None:
    schemes = data.draw(few_schemes)
    lines = data.draw(st.lists(made_up, min_size=1, max_size=25))
    check(
        [replace(one, scheme=schemes[number % len(schemes)] if one.scheme else "") for number, one in enumerate(lines)]
    )


def test_a_statement_of_tiers_is_cancelled_and_issued_again() -> None:
    """Of 150, 100 are charged 12 and 50 are charged 5, less the 10.80 of January; 1.005 takes up what was left."""
    scheme = "year/account/graduated/0=12/100=10"
    one = Sold(0, "1", "GBP", Decimal("1.005"), Decimal("0.25"), Decimal(90), scheme)
    objects, runs = runs_of([one, replace(one, month=1, turnover=Decimal(60)), replace(one, month=2)])
    for hour, desired in (("09", Desired.CANCEL), ("10", Desired.RELEASE)):
        (draft,) = (found for found in runs.drafts if str(found.period) == "2026-02")
        runs.decide(draft, DraftRequest(desired, "a wrong name", len(draft.decisions)), at(f"2026-07-06 {hour}:00"))
        runs.run(at(f"2026-07-06 {hour}:05"))
    folder = "statements/2026-02/1/GBP/"
    made = [json.loads(objects[f"{folder}{part}statement.json"]) for part in ("", "2/", "3/")]
    assert [document["commission"] for document in made] == ["7.46", "-7.46", "7.47"]
    assert [document["period_charges"][0]["amount"] for document in made] == ["6.2", "-6.2", "6.2"]
    result = verify(opening(objects), objects)
    assert [problem for problem in result.problems if problem.startswith("statements/")] == []


def test_other_tiers_than_those_of_the_lines_are_found() -> None:
    scheme = "year/account/graduated/0=12/100=10"
    one = Sold(0, "1", "GBP", Decimal(0), Decimal(0), Decimal(90), scheme)
    objects, _ = runs_of([one, replace(one, month=1)])
    for month, changed in (("2026-01", {"turnover": "80"}), ("2026-02", {"charged_before": "9"})):
        key = f"statements/{month}/1/GBP/draft.json"
        draft = json.loads(objects[key])
        draft["sums"]["charges"]["of_period"][0].update(changed)
        objects[key] = json.dumps(draft).encode()
    key = "statements/2026-01/turnover.jsonl.gz"
    objects[key] = gzip.compress(gzip.decompress(objects[key]).replace(b'"10.8"', b'"10.7"'))
    found = verify(opening(objects), objects).problems
    for place in (
        "2026-01/1/GBP/draft.json: sums.charges.of_period[0].turnover: expected 90, found 80",
        "2026-02/1/GBP/draft.json: sums.charges.of_period[0].charged_before: expected 10.8, found 9",
        "2026-01/turnover.jsonl.gz: [0][6]: expected 10.8, found 10.7",
    ):
        assert any(place in one for one in found), found
