"""A year of a marketplace with every kind of agency, from sales to every file that an accountant takes.

Each file is compared with `plain_figures`, which knows the events and the registrations alone.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.cli import main
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.replay.replay import replaying
from tests.support import plain_year
from tests.support.plain_figures import Expected, Payment, Row, cents_even, flattened, registered
from tests.support.year_books import Books


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Books, Path]]:
    """The year, and the folder of its sealed files."""
    parameters = {"ReportRate": "rate(1 day)"}
    with (
        open_stack("embedded", parameters, virtual=True, settings=plain_year.SETTINGS) as stack,
        replaying(stack, print, statements=True) as replay,
    ):
        stack.start()
        made = Books(stack, replay)
        made.run()
        folder = tmp_path_factory.mktemp("year")
        stack.bucket.copy_to(folder)
        yield made, folder


pytestmark = pytest.mark.slow


def test_every_document_states_what_follows_from_its_events(books: tuple[Books, Path]) -> None:
    made, folder = books
    sealed = {one["number"]: one for one in _contents(folder)}
    assert sealed.keys() == {one.number for one in made.expected.documents}
    for one in made.expected.documents:
        expected = {
            "opening": one.opening,
            "commission": one.commission,
            "tax": one.tax,
            "proceeds": one.proceeds,
            "payments": one.paid,
            "closing": one.closing,
        }
        figures = {name: Decimal(sealed[one.number][name]) for name in expected}
        assert figures == expected, (one.number, one.account, one.month)


def _contents(folder: Path) -> Iterator[dict[str, Any]]:
    for path in folder.rglob("statement.json"):
        yield json.loads(path.read_text("utf-8"))


def test_the_returns_declare_what_was_charged_by_country_and_vat_id_of_the_tax_points(
    books: tuple[Books, Path], tmp_path: Path
) -> None:
    made, folder = books
    sums: dict[tuple[str, ...], list[Any]] = defaultdict(lambda: [0, *[Decimal(0)] * 4])
    sales: dict[tuple[str, ...], list[Any]] = defaultdict(lambda: [0, *[Decimal(0)] * 2])
    for document, row in flattened(made.expected.documents):
        key, currency = row.key, document.account[1]
        of = sums[key.country, key.scheme, f"{key.percent:f}", currency, ""]
        _add(of, row.base, row.tax, row.euro_base, row.euro_tax)
        if key.scheme == "reverse_charge":
            three_months = f"2026-Q{(document.month + 2) // 3}"
            _add(sales[three_months, key.country, key.vat_id, currency], row.base, row.euro_base)
    numbered = {one.number: one for one in made.expected.documents}
    for document in made.expected.documents:
        for paid in document.payments:
            if paid.kind in CORRECTING:
                (row,) = numbered[paid.statement].rows
                tax = _lost_tax(paid, numbered)
                of = sums[row.key.country, row.key.scheme, f"{row.key.percent:f}", document.account[1], paid.kind]
                _add(of, *[tax - paid.amount, -tax] * 2)
    declared = {tuple(row[:5]): [int(row[5]), *map(Decimal, (*row[6:8], *row[9:]))] for row in _vat(folder, tmp_path)}
    assert declared == sums
    assert {key[4] for key in declared} == {"", *CORRECTING}
    found = {
        (three_months, *row[:3]): [int(row[3]), *map(Decimal, (row[4], row[6]))]
        for three_months in (f"2026-Q{number}" for number in range(1, 5))
        for row in _vat(folder, tmp_path, "--ec-sales", period=three_months)
    }
    assert found == sales
    assert {key[0] for key in sums} >= {"DE", "FR", "NL", "ES", "CH", "GB"}


def _add(sums: list[Any], *amounts: Decimal) -> None:
    sums[:] = [sums[0] + 1, *(one + amount for one, amount in zip(sums[1:], amounts, strict=True))]


def _vat(folder: Path, tmp_path: Path, *more: str, period: str = "2026") -> list[list[str]]:
    out = tmp_path / "vat.csv"
    assert main(["vat", str(folder), "--period", period, *more, "--csv", str(out)]) == 0
    return _rows(out)[1:]


def _rows(path: Path, delimiter: str = ",", encoding: str = "utf-8") -> list[list[str]]:
    with path.open(encoding=encoding, newline="") as text:
        return list(csv.reader(text, delimiter=delimiter))


def test_receivables_at_the_end_of_a_day_are_what_was_issued_and_paid_by_then(
    books: tuple[Books, Path], tmp_path: Path
) -> None:
    made, folder = books
    out = tmp_path / "receivables.csv"
    for on, listed in made.open.items():
        assert main(["receivables", str(folder), "--on", on.isoformat(), "--csv", str(out)]) == 0
        columns, *rows = _rows(out)
        items = [dict(zip(columns, cells, strict=True)) for cells in rows]
        found = {
            one["number"] or f"{one['agency']}#{one['currency']}": Decimal(one["balance"])
            for one in items
            if one["agency"]
        }
        assert found == made.expected.open(on) == listed, on
        sums: dict[str, Decimal] = defaultdict(Decimal)
        for one in items:
            sums[one["currency"]] += Decimal(one["balance"]) * (1 if one["agency"] else -1)
        assert not any(sums.values()), "the last rows are the sums"
    assert sum(map(len, made.open.values())) > 100


ACCOUNTS = """
currency = "EUR"
[accounts]
payments = "1360"
opening = "9008"
proceeds = "1590"
[receivable]
account = "10{agency}"
[payable]
account = "70{agency}"
[[revenue]]
scheme = "standard"
percent = 19
account = "8400"
automatic = true
rows = "net"
vat_account = "1776"
[[revenue]]
scheme = "standard"
percent = 7
account = "8300"
automatic = false
vat_account = "1771"
[[revenue]]
scheme = "standard"
charge = "payment fee"
account = "8410"
automatic = false
vat_account = "1776"
[[revenue]]
scheme = "standard"
kind = "late_interest"
account = "2650"
automatic = false
vat_account = "1776"
[[revenue]]
scheme = "standard"
percent = 7
kind = "late_interest"
account = "2650"
automatic = false
vat_account = "1771"
[[revenue]]
scheme = "reverse_charge"
account = "8336"
[[revenue]]
scheme = "exempt"
account = "8100"
[[revenue]]
scheme = "outside_scope"
account = "8338"
[[revenue]]
scheme = "outside_scope"
kind = "chargeback_fee"
account = "8339"
[[payment]]
kind = "bank_charges"
account = "4970"
[[payment]]
kind = "rounding_difference"
account = "4900"
[[payment]]
kind = "cash_discount"
account = "8736"
automatic = false
vat_account = "1776"
[[payment]]
kind = "bad_debt"
account = "2406"
automatic = false
vat_account = "1776"
[datev]
consultant = 1001
client = 1
fiscal_year = "01-01"
account_length = 4
[xero]
no_tax = "No VAT"
dates = "yyyy-mm-dd"
"""
CORRECTING = ("bad_debt", "cash_discount")
XERO_CODES = {"19": "Output 19", "7": "Output 7"}


def _revenue_account(row: Row, charge: str, kind: str) -> str:
    """Return the account that the map above has for a part of a row."""
    if kind == "late_interest" and row.key.scheme == "standard":
        return "2650"
    if kind == "chargeback_fee" and row.key.scheme == "outside_scope":
        return "8339"
    if charge == "payment fee":
        return "8410"
    by_scheme = {"reverse_charge": "8336", "exempt": "8100", "outside_scope": "8338"}
    return by_scheme.get(row.key.scheme) or ("8400" if row.key.percent == 19 else "8300")


def _booked(one: Expected, cleared: Mapping[str, Expected]) -> dict[str, Decimal]:
    """Return what a document and its payments put on each account: debits above 0."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    party = _party(one)
    sums[party] += one.amount - one.paid
    sums["1590"] += one.proceeds
    for row in one.rows:
        for charge, base in row.charges.items():
            rest = base
            for (of, kind), exact in row.parts.items():
                if of == charge and kind:
                    part = cents_even(exact)
                    rest -= part
                    sums[_revenue_account(row, charge, kind)] -= part
            sums[_revenue_account(row, charge, "")] -= rest
        sums["1771" if row.key.percent == 7 else "1776"] -= row.tax
    for paid in one.payments:
        account = {"": "1360", "bank_charges": "4970", "rounding_difference": "4900"}.get(paid.kind)
        if account:
            sums[account] += paid.amount
            continue
        tax = _lost_tax(paid, cleared)
        sums["8736" if paid.kind == "cash_discount" else "2406"] += paid.amount - tax
        sums["1776"] += tax
    return {account: amount for account, amount in sums.items() if amount}


def _lost_tax(paid: Payment, cleared: Mapping[str, Expected]) -> Decimal:
    """Return the VAT that a payment in place of money takes back."""
    lost = cleared[paid.statement]
    return cents_even(Fraction(paid.amount) * Fraction(lost.tax) / Fraction(lost.commission + lost.tax))


def _party(one: Expected) -> str:
    """Return the account of an agency: by who collects at the end of the month."""
    name = one.account[0]
    last = date(2026, one.month, 28)
    return f"{'70' if registered(name, last).get('collects') == 'marketplace' else '10'}{name}"


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("accounts") / "accounts.toml"
    path.write_text(ACCOUNTS, "utf-8")
    return path


def _journal(folder: Path, accounts: Path, out: Path, *more: str) -> None:
    for month in range(1, 13):
        period = ["--period", f"2026-{month:02d}", "--out", str(out.with_stem(f"{out.stem}-{month}"))]
        assert main(["journal", str(folder), "--accounts", str(accounts), *period, *more]) == 0


def test_the_journals_book_each_amount_on_its_account(
    books: tuple[Books, Path], accounts: Path, tmp_path: Path
) -> None:
    made, folder = books
    _journal(folder, accounts, tmp_path / "journal.csv")
    found: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for path in tmp_path.glob("journal-*.csv"):
        columns, *rows = _rows(path)
        for cells in rows:
            row = dict(zip(columns, cells, strict=True))
            amount = Decimal(row["debit"] or 0) - Decimal(row["credit"] or 0)
            found[row["number"]][row["account"]] += amount
    cleared = {one.number: one for one in made.expected.documents}
    for one in made.expected.documents:
        sums = {account: amount for account, amount in found[one.number].items() if amount}
        assert sums == _booked(one, cleared), (one.number, one.account, one.month)
