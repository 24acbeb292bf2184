"""Years of events with rate cards of all kinds are charged as an independent computation says, to the last decimal.

The computation starts from the events as they were sent. It is compared with each sealed line, summaries, live totals,
statements, their files and journals, and the product's own proof. A failure names its seed, which plays the same year
again.
"""

import csv
import gzip
import io
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from quarterhour.proof.verify import verify
from quarterhour_tools.cli import main
from tests.invariants.computation import NONE, Charged, Line
from tests.invariants.computed_months import Document, Ledger, Months
from tests.invariants.made_up_rate_cards import LINE_NAMES
from tests.invariants.made_up_year import AGENCIES, DEFAULT_RATE, GRACE_DAYS, ZONE, Size, Year
from tests.invariants.trial import on_trial
from tests.support.sealing import opening

if TYPE_CHECKING:
    from tests.invariants.computation import Account
    from tests.invariants.computed_months import Month

ACCOUNTS: Final = "\n".join(
    [
        'currency = "EUR"\n[accounts]\npayments = "payments"\nopening = "opening"\nproceeds = "proceeds"',
        '[receivable]\naccount = "agencies"\n[payable]\naccount = "agencies"',
        *(
            f'[[revenue]]\nscheme = "{scheme}"\ncharge = "{name}"\naccount = "{name}"\nvat_account = "vat"'
            for scheme in ("standard", "exempt")
            for name in (*LINE_NAMES, "listing fee", "minimum")
        ),
    ]
)
"""A map of accounts: each charge has an account of its name."""
NEAR: Final = Fraction(1, 10**16)
"""A group's charge is shared with 20 decimal places for each tier."""


class Comparison:
    """A year that was played, compared with its computation."""

    def __init__(self, year: Year) -> None:
        self._year = year
        self._place = year.place
        self._documents: dict[str, Document] = {}
        bucket = year.place.stack.bucket
        self._files = {key: bucket.open(key).read() for key in bucket.keys()}  # noqa: SIM118 - no dict
        lines = year.computation.lines
        ordered = sorted(lines, key=lambda id_: year.place.receipts[id_]["position"])
        self._months = Months(year.computation, [lines[id_] for id_ in ordered], AGENCIES)

    def lines(self) -> None:
        """Compare each sealed line; what raced, in sums for each account, month and tax point."""
        sealed = {row["id"]: row for key in self._files if key.startswith("ledger/") for row in self._rows(key)}
        assert sealed.keys() == self._year.computation.lines.keys()
        sums: defaultdict[Any, Charged] = defaultdict(Charged)
        for id_, line in self._year.computation.lines.items():
            row = sealed[id_]
            found, place = line_of(row), place_of(line)
            assert place_of_row(row) == place, id_
            if id_ in self._year.raced:
                sums[place] = sums[place].plus(found).plus(line.charged, -1)
            else:
                assert (found, Fraction(row["amount"])) == (line.charged, line.amount), id_
        assert {place: one for place, one in sums.items() if one != Charged()} == {}

    def summaries(self) -> None:
        """Compare the sums of all runs by account and month."""
        sums: defaultdict[Any, Charged] = defaultdict(Charged)
        for key in (one for one in self._files if one.endswith("summary.csv")):
            for row in csv.DictReader(io.StringIO(self._files[key].decode(), newline="")):
                place = (row["agency"], row["currency"]), row["period"]
                sums[place] = sums[place].plus(line_of(row))
        for line in self._year.computation.lines.values():
            place = line.account, line.period
            sums[place] = sums[place].plus(line.charged, -1)
        assert {place: one for place, one in sums.items() if one != Charged()} == {}

    def _rows(self, key: str) -> list[dict[str, str]]:
        text = gzip.decompress(self._files[key]).decode()
        return list(csv.DictReader(io.StringIO(text, newline="")))

    def live(self, period: str) -> None:
        """Compare the totals of a month as the API shows them."""
        for (agency, currency), month in self._months.of(period).items():
            if not month.lines:
                continue
            periods = self._place.all(f"/accounts/{agency}/{currency}/periods")
            (shown,) = (one for one in periods if one["period"] == period)
            fixed = Charged()
            for line in month.lines:
                fixed = fixed.plus(line.charged)
            commission = sum(fixed.amounts.values(), NONE)
            assert Fraction(shown["commission"]) == commission
            charges = {name: Fraction(text) for name, text in shown.get("charges", {}).items() if Fraction(text)}
            assert charges == fixed.amounts or ("charges" not in shown and fixed.amounts.keys() <= {"commission"})
            due = commission + self._months.live_tiers(period, (agency, currency))
            assert abs(Fraction(shown.get("charged", shown["commission"])) - due) < NEAR, (agency, currency, shown)

    def statements(self, periods: Sequence[str]) -> None:
        """Compare all documents: the statements of each month, then those that were cancelled and issued again."""
        ledgers: dict[Account, Ledger] = {}
        made: dict[tuple[Account, str], tuple[Month, Document]] = {}
        for period in periods:
            months = self._months.of(period)
            prefix = f"statements/{period}/"
            keys = {
                tuple(key.split("/")[2:4]) for key in self._files if key.startswith(prefix) and "statement.json" in key
            }
            assert keys == months.keys(), period
            for account, month in sorted(months.items()):
                ledger = ledgers.setdefault(account, Ledger(account[1], self._year.computation.rounding))
                document = ledger.statement(month, self._months, account)
                self._document(f"{prefix}{account[0]}/{account[1]}/", document)
                made[account, period] = month, document
        account, period = self._year.cancelled
        month, document = made[account, period]
        prefix, ledger = f"statements/{period}/{account[0]}/{account[1]}/", ledgers[account]
        self._document(f"{prefix}2/", ledger.cancel(document))
        self._document(f"{prefix}3/", ledger.statement(month, self._months, account, again=True))

    def _document(self, prefix: str, document: Document) -> None:
        """Compare the content of a document, and its electronic invoice, if it has one."""
        shown = json.loads(self._files[f"{prefix}statement.json"])
        self._documents[shown["number"]] = document
        compare(shown, document)
        if invoice := self._files.get(f"{prefix}statement.xml"):
            sign = -1 if "<CreditNote" in invoice.decode() else 1
            taxes = re.findall(r"<cac:TaxTotal>\s*<cbc:TaxAmount[^>]*>(.*?)<", invoice.decode())
            assert sign * Fraction(taxes[0]) == document.tax, prefix
            (base,) = re.findall(r"<cbc:TaxExclusiveAmount[^>]*>(.*?)<", invoice.decode())
            assert sign * Fraction(base) == document.commission, prefix

    def journals(self, folder: Path, periods: Sequence[str]) -> None:
        """Compare what journals book on the account of each charge, of tax, payments and proceeds, by document."""
        self._place.stack.bucket.copy_to(folder)
        (folder / "accounts.toml").write_text(ACCOUNTS, "utf-8")
        booked: defaultdict[str, defaultdict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        for period in periods:
            out = folder / f"{period}.csv"
            options = ["--period", period, "--accounts", str(folder / "accounts.toml"), "--out", str(out)]
            assert main(["journal", str(folder), *options]) == 0
            for row in csv.DictReader(io.StringIO(out.read_text("utf-8"), newline="")):
                booked[row["number"]][row["account"]] += Fraction(row["credit"] or 0) - Fraction(row["debit"] or 0)
        for number, document in self._documents.items():
            due: defaultdict[str, Fraction] = defaultdict(Fraction)
            for (_, name), (_, shown) in document.bases.items():
                due[name] += shown
            due |= {"vat": document.tax, "proceeds": -document.proceeds[1], "payments": -document.paid}
            due["opening"] = document.opened
            due["agencies"] = -sum(due.values(), NONE)
            found = {name: amount for name, amount in booked[number].items() if amount}
            assert found == {name: amount for name, amount in due.items() if amount}, number

    def proof(self) -> None:
        """Let the product prove its own files."""
        assert verify(opening(self._files), self._files).problems == []


def compare(shown: Mapping[str, Any], document: Document) -> None:
    """Compare a document with its figures."""
    where = shown["agency"], shown["currency"], shown["period"], shown["number"]
    bases = {
        ((row["scheme"], Fraction(row["percent"])), one["name"]): (Fraction(one["exact"]), Fraction(one["amount"]))
        for row in shown["taxes"]
        for one in row["charges"]
    }
    due_bases = {of for of, one in document.bases.items() if any(one)}
    assert {of for of, one in bases.items() if any(one)} == due_bases, where
    for of, (exact, amount) in bases.items():
        due = document.bases.get(of, (NONE, NONE))
        assert abs(exact - due[0]) < NEAR, (where, of)
        assert amount == due[1], (where, of)
    taxes = {(row["scheme"], Fraction(row["percent"])): Fraction(row["tax"]) for row in shown["taxes"]}
    assert {of: one for of, one in taxes.items() if one} == {of: one for of, (_, one) in document.taxes.items() if one}
    figures = {name: Fraction(shown[name]) for name in ("opening", "commission", "tax", "proceeds", "closing")}
    assert figures == {
        "opening": document.opening,
        "commission": document.commission,
        "tax": document.tax,
        "proceeds": document.proceeds[1],
        "closing": document.closing,
    }, where


def place_of(line: Line) -> tuple[Any, ...]:
    return (*line.account, line.period, line.tax_point.isoformat(), line.is_prior)


def place_of_row(row: Mapping[str, str]) -> tuple[Any, ...]:
    return row["agency"], row["currency"], row["period"], row["tax_point"], bool(row["prior_period"])


def line_of(row: Mapping[str, str]) -> Charged:
    """Return the charges in a sealed line."""
    amounts, turnover = {}, {}
    for entry in filter(None, row["charges"].split(";")):
        name, _, value = entry.partition(":")
        number, _, scheme = value.partition("@")
        if scheme:
            turnover[name, scheme] = Fraction(number)
        else:
            amounts[name] = Fraction(number)
    if not row["charges"]:
        amounts = {"commission": Fraction(row["commission"])}
    assert sum(amounts.values()) == Fraction(row["commission"])
    return Charged().plus(Charged(amounts, turnover))


FAST: Final = [(1, Size(2, 14))]
SLOW: Final = [*((seed, Size(3, 40)) for seed in (2, 3, 4, 5, 6, 7, 13)), (8, Size(12, 20))]


@pytest.mark.parametrize(
    ("seed", "size"),
    [*FAST, *(pytest.param(*one, marks=[pytest.mark.slow, pytest.mark.timeout(900)]) for one in SLOW)],
)
def test_a_year_is_charged_as_the_computation_says(seed: int, size: Size, tmp_path: Path) -> None:
    start, rounding = datetime(2026, 10, 1, 6, tzinfo=UTC), ("half-even", "half-up")[seed % 2]
    calendar: dict[str, Any] = {"time_zone": ZONE, "grace_days": GRACE_DAYS, "first_period": "2026-10"}
    with on_trial(start=start, **calendar, rounding=rounding, commission_rate=DEFAULT_RATE) as place:
        year = Year(place, seed, rounding)
        year.play(size)
        found = Comparison(year)
        found.lines()
        found.summaries()
        periods = [f"{2026 + (9 + number) // 12}-{(9 + number) % 12 + 1:02d}" for number in range(size.months)]
        for period in periods:
            found.live(period)
        found.statements(periods)
        found.journals(tmp_path, periods)
        found.proof()
