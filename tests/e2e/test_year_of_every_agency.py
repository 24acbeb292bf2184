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
from xml.etree import ElementTree as ET

import pytest

from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.cli import main
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.replay.replay import replaying
from tests.support import plain_year
from tests.support.datev_format import check_datev
from tests.support.plain_figures import Expected, Payment, Row, at, cents_even, flattened, registered
from tests.support.plain_year import CURRENCIES
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


def test_the_files_for_datev_fit_its_format_and_book_the_same(
    books: tuple[Books, Path], accounts: Path, tmp_path: Path
) -> None:
    made, folder = books
    _journal(folder, accounts, tmp_path / "EXTF.csv", "--format", "datev")
    found: dict[str, Decimal] = defaultdict(Decimal)
    for path in tmp_path.glob("EXTF-*.csv"):
        check_datev(path.read_bytes())
        _, columns, *rows = _rows(path, ";", "cp1252")
        for cells in rows:
            row = dict(zip(columns, cells, strict=True))
            amount = _comma(row["Umsatz (ohne Soll/Haben-Kz)"]) * (1 if row["Soll/Haben-Kennzeichen"] == "S" else -1)
            if row["Konto"][2:] not in CURRENCIES:
                found[row["Konto"]] += amount
                found[row["Gegenkonto (ohne BU-Schlüssel)"]] -= amount
            elif row["Gegenkonto (ohne BU-Schlüssel)"] in {"8338", "8339"}:
                euros = _comma(row["Basis-Umsatz"]) if row["Basis-Umsatz"] else abs(amount)
                found["in euros"] -= euros if amount > 0 else -euros
    cleared = {one.number: one for one in made.expected.documents}
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for one in made.expected.documents:
        if one.account[1] != "EUR":
            sums["in euros"] -= sum((row.euro_base for row in one.rows), Decimal(0))
            continue
        for account, amount in _booked(one, cleared).items():
            sums[account] += amount
    assert {account: amount for account, amount in found.items() if amount} == {
        account: amount for account, amount in sums.items() if amount
    }


def _comma(text: str) -> Decimal:
    return Decimal(text.replace(",", "."))


def test_the_files_for_xero_bill_each_document_and_its_proceeds(
    books: tuple[Books, Path], accounts: Path, tmp_path: Path
) -> None:
    made, folder = books
    text = accounts.read_text("utf-8")
    for account, code in (("1776", "Output 19"), ("1771", "Output 7")):
        named = f'vat_account = "{account}"'
        text = text.replace(named, f'{named}\nvat_code = "{code}"')
    text = text.replace('automatic = true\nrows = "net"\n', "")
    (own := tmp_path / "xero.toml").write_text(text, "utf-8")
    _journal(folder, own, tmp_path / "sales.csv", "--format", "xero")
    found: dict[tuple[str, bool], list[Decimal]] = defaultdict(lambda: [Decimal(0)] * 2)
    for path in tmp_path.glob("sales-*.csv"):
        columns, *rows = _rows(path)
        for cells in rows:
            row = dict(zip(columns, cells, strict=True))
            sums = found[row["*InvoiceNumber"], path.stem.endswith("-bills")]
            sums[:] = [sums[0] + Decimal(row["*UnitAmount"]), sums[1] + Decimal(row["TaxAmount"] or 0)]
    expected: dict[tuple[str, bool], list[Decimal]] = {}
    cleared = {one.number: one for one in made.expected.documents}
    for one in made.expected.documents:
        if one.rows:
            expected[one.number, False] = [one.commission, one.tax]
        if one.proceeds:
            expected[one.number, True] = [one.proceeds, Decimal(0)]
        for place, paid in enumerate((each for each in one.payments if each.kind), 1):
            tax = _lost_tax(paid, cleared) if paid.kind in CORRECTING else Decimal(0)
            expected[f"{one.number}/{place}", False] = [tax - paid.amount, -tax]
    nothing = [Decimal(0)] * 2
    assert {key: sums for key, sums in found.items() if sums != nothing} == {
        key: sums for key, sums in expected.items() if sums != nothing
    }


def test_the_roll_forward_goes_from_opening_to_closing_with_what_is_not_issued(
    books: tuple[Books, Path], tmp_path: Path
) -> None:
    made, folder = books
    out = tmp_path / "balances.csv"
    for month in range(2, 13):
        assert main(["roll-forward", str(folder), "--month", f"2026-{month:02d}", "--csv", str(out)]) == 0
        columns, *rows = _rows(out)
        found = [dict(zip(columns, cells, strict=True)) for cells in rows]
        for row in (one for one in found if one["agency"]):
            documents = [one for one in made.expected.documents if one.account == (row["agency"], row["currency"])]
            before = [one for one in documents if one.issued_on < date(2026, month, 1)]
            within = [one for one in documents if (one.issued_on.year, one.issued_on.month) == (2026, month)]
            expected = {
                "opening": before[-1].closing if before else Decimal(0),
                "commission": sum((one.commission for one in within), Decimal(0)),
                "tax": sum((one.tax for one in within), Decimal(0)),
                "proceeds": -sum((one.proceeds for one in within), Decimal(0)),
                "payments": -sum((one.paid for one in within), Decimal(0)),
                "closing": (before + within)[-1].closing if before or within else Decimal(0),
            }
            assert {name: Decimal(row[name]) for name in expected} == expected, (month, row)
            exact = made.expected.exact((row["agency"], row["currency"]), month)
            assert abs(Fraction(Decimal(row["unissued_commission"])) - exact) < Fraction(1, 10**7), (month, row)
        assert {one["currency"] for one in found if not one["agency"]} == {one["currency"] for one in found}


def test_the_electronic_invoices_state_base_and_tax_by_scheme(books: tuple[Books, Path]) -> None:
    made, folder = books
    numbered, states = {one.number: one for one in made.expected.documents}, set()
    for path in folder.rglob("statement.xml"):
        root = ET.fromstring(path.read_bytes())  # noqa: S314 - ours
        one = numbered[root.findtext("{*}ID") or ""]
        sign = -1 if root.tag.endswith("CreditNote") else 1
        expected: dict[tuple[str, Decimal], list[Decimal]] = defaultdict(lambda: [Decimal(0)] * 2)
        for row in one.rows:
            if row.base or row.tax:
                sums = expected[CATEGORIES[row.key.scheme], row.key.percent]
                sums[:] = [sums[0] + row.base, sums[1] + row.tax]
        found = {
            (
                total.findtext("{*}TaxCategory/{*}ID") or "",
                Decimal(total.findtext("{*}TaxCategory/{*}Percent") or "0"),
            ): [sign * Decimal(total.findtext(f"{{*}}{name}") or "") for name in ("TaxableAmount", "TaxAmount")]
            for total in root.iterfind("{*}TaxTotal/{*}TaxSubtotal")
        }
        assert found == expected, one.number
        gross = root.findtext("{*}LegalMonetaryTotal/{*}TaxInclusiveAmount") or ""
        assert sign * Decimal(gross) == one.commission + one.tax
        states.add(one.number)
    without = set()
    for number, one in numbered.items():
        keys = {row.key for row in one.rows if row.base or row.tax}
        schemes = {key.scheme for key in keys}
        if len(schemes) > 1 and "outside_scope" in schemes:
            without.add(number)
        if len({row.key.vat_id for row in one.rows if row.key.scheme == "reverse_charge"}) > 1:
            without.add(number)
    assert numbered.keys() - states == without, "EN 16931 cannot express these"


CATEGORIES = {"standard": "S", "reverse_charge": "AE", "exempt": "E", "outside_scope": "O"}


def test_the_payouts_are_the_open_credits_of_agencies_whose_money_is_collected(
    books: tuple[Books, Path], tmp_path: Path
) -> None:
    made, folder = books
    out = tmp_path / "payouts.xml"
    with using(ManualClock(at(date(2027, 1, 6)))):
        main(["payouts", str(folder), "--name", "year", "--date", "2027-01-07", "--out", str(out)])
    root = ET.fromstring(out.read_bytes())  # noqa: S314 - ours
    found = {
        one.findtext("{*}PmtId/{*}EndToEndId"): (
            Decimal(one.findtext("{*}Amt/{*}InstdAmt") or ""),
            one.findtext("{*}CdtrAcct/{*}Id/{*}IBAN"),
        )
        for one in root.iter(f"{root.tag.partition('}')[0]}}}CdtTrfTxInf")
    }
    open_ = made.expected.open(date(2027, 1, 6))
    expected = {}
    for one in made.expected.documents:
        party = registered(one.account[0], date(2026, 12, 31))
        if open_.get(one.number, 0) < 0 and one.account[1] == "EUR" and party.get("collects") == "marketplace":
            expected[one.number] = (-open_[one.number], party["iban"])
    assert found == expected
    assert len(found) > 2
