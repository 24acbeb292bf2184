"""Journal entries: figures by hand, what the map lacks, and the law that everything balances in every format."""

import re
from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour_tools.accounting.account_map import AccountMap, MapProblemsError
from quarterhour_tools.accounting.datev import COLUMNS as DATEV_COLUMNS
from quarterhour_tools.accounting.datev import datev_journal
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.journal_csv import COLUMNS, XERO_COLUMNS, plain_journal, xero_journal
from quarterhour_tools.accounting.journal_entries import JournalEntry, UnbalancedError, journal_entries
from tests.support.accounting import EXAMPLE, accounts, content, document, in_euros, rows_of, tax
from tests.support.datev_format import check_datev
from tests.support.laws import examples

MADE_AT = datetime(2026, 12, 5, 9, 30, 1, 234_000, UTC)

Line = tuple[str, str, str]


def lines(*documents: StatementDocument, map_: AccountMap | None = None) -> list[Line]:
    entries = journal_entries(documents, map_ or accounts())
    return [(line.role.value, line.account, money.plain(line.amount)) for one in entries for line in one.lines()]


def lacking(*documents: StatementDocument, text: str = EXAMPLE, form: str = "csv") -> list[tuple[str, str]]:
    with pytest.raises(MapProblemsError) as raised:
        journal_entries(documents, accounts(text, form))
    return [(one.field, one.problem) for one in raised.value.problems]


def test_an_agency_that_collects_owes_commission_and_tax_and_has_paid_some() -> None:
    found = lines(
        document(tax("100.00", "19.00"), tax("50.00", scheme="reverse_charge"), payments="60.00", opening="7.00")
    )
    assert found == [
        ("receivable", "10042", "169.00"),
        ("revenue", "8400", "-100.00"),
        ("vat", "1776", "-19.00"),
        ("revenue", "8336", "-50.00"),
        ("receivable", "10042", "-60.00"),
        ("payments", "1360", "60.00"),
    ]


def test_a_balance_brought_forward_has_its_own_account() -> None:
    assert lines(document(tax("0.00"), opening="45.10", brought_forward="45.10", agency="43")) == [
        ("receivable", "10000", "45.10"),
        ("opening", "9008", "-45.10"),
    ]


def test_the_marketplace_owes_proceeds_less_commission_to_an_agency_for_which_it_collects() -> None:
    found = lines(document(collects="marketplace", proceeds="1000.00", payments="-300.00", opening="-300.00"))
    assert found == [
        ("payable", "70000", "119.00"),
        ("revenue", "8400", "-100.00"),
        ("vat", "1776", "-19.00"),
        ("payable", "70000", "-1000.00"),
        ("proceeds", "1590", "1000.00"),
        ("payable", "70000", "300.00"),
        ("payments", "1360", "-300.00"),
    ]


def test_a_credit_note_mirrors_its_statement() -> None:
    statement = lines(document(payments="60.00"))
    credit_note = lines(document(tax("-100.00", "-19.00"), payments="-60.00"))
    assert credit_note == [(role, account, money.plain(-Decimal(amount))) for role, account, amount in statement]


def test_a_document_that_changes_no_balance_has_no_entry() -> None:
    assert lines(document(tax("0.00"), opening="119.00")) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"payable": "119.01", "closing": "119.01"}, "its taxes make 119.00, and payable is 119.01"),
        ({"closing": "119.0000001"}, "its amounts make 119.00, and closing is 119.0000001"),
    ],
)
def test_amounts_that_contradict_each_other_make_no_entry(changed: dict[str, str], message: str) -> None:
    with pytest.raises(UnbalancedError, match=f"^S-000001 does not balance: {re.escape(message)}$"):
        lines(StatementDocument.parse(content() | changed))


def test_everything_that_the_map_lacks_is_named_at_once_with_the_documents() -> None:
    text = 'currency = "EUR"\n[[revenue]]\nscheme = "standard"\npercent = 19\naccount = "8400"\n'
    documents = [
        document(payments="1.00", brought_forward="2.00", opening="2.00"),
        document(number="S-000002"),
        document(tax("5.00", scheme="exempt"), number="S-000003", collects="marketplace", proceeds="9.00"),
    ]
    assert lacking(*documents, text=text) == [
        ("receivable", "has no account of '42' (S-000001 and 1 more)"),
        ("revenue[1].vat_account", "is missing (S-000001 and 1 more)"),
        ("accounts.opening", "is missing (S-000001)"),
        ("accounts.payments", "is missing (S-000001)"),
        ("payable", "has no account of '42' (S-000003)"),
        ("revenue", "has no entry for exempt, 0 %, DE (S-000003)"),
        ("accounts.proceeds", "is missing (S-000003)"),
    ]


def test_a_pattern_that_makes_no_account_of_the_system_is_named() -> None:
    text = EXAMPLE.replace('account = "10000"', 'account = "1{agency}"')
    assert lacking(document(agency="Café/7"), text=text, form="datev") == [
        ("receivable.account", r"makes the account '1Caf\xe9/7' of 'Caf\xe9/7' (S-000001)")
    ]
    assert lines(document(agency="43"), map_=accounts(text, "datev"))[0] == ("receivable", "143", "119.00")


# ---------------------------------------------------------------- formats


def entries(*documents: StatementDocument, form: str, text: str = EXAMPLE) -> list[JournalEntry]:
    return journal_entries(documents, accounts(text, form))


def refused(write: Any, *arguments: Any) -> list[tuple[str, str]]:
    with pytest.raises(MapProblemsError) as raised:
        write(*arguments)
    return [(one.field, one.problem) for one in raised.value.problems]


def test_the_plain_file_has_debits_and_credits() -> None:
    text = EXAMPLE.replace('account = "8400"', 'account = "8400"\nvat_code = 3')
    file = plain_journal(entries(document(agency="=42", customer={"country": "DE"}), form="csv", text=text))
    assert rows_of(file) == [
        list(COLUMNS),
        [
            *("2026-12-04", "S-000001", "statement", "2026-11", "'=42", "EUR", "receivable", "10000", "119.00", ""),
            *("", "Commission 2026-11 =42"),
        ],
        [
            *("2026-12-04", "S-000001", "statement", "2026-11", "'=42", "EUR", "revenue", "8400", "", "100.00"),
            *("3", "Commission 2026-11 =42"),
        ],
        [
            *("2026-12-04", "S-000001", "statement", "2026-11", "'=42", "EUR", "vat", "1776", "", "19.00"),
            *("3", "Commission 2026-11 =42"),
        ],
    ]


def test_xero_gets_signed_amounts_under_one_narration() -> None:
    text = EXAMPLE.replace('account = "8400"', 'account = "8400"\nvat_code = "Zero Rated Income"')
    file = xero_journal(entries(document(), form="xero", text=text), accounts(text, "xero"))
    assert rows_of(file) == [
        list(XERO_COLUMNS),
        [
            *("S-000001 Commission 2026-11 Harbour Books GmbH", "04/12/2026", "receivable", "10042", "No VAT"),
            *("119.00", "", "", "", ""),
        ],
        [
            *("S-000001 Commission 2026-11 Harbour Books GmbH", "04/12/2026", "revenue", "8400", "Zero Rated Income"),
            *("-100.00", "", "", "", ""),
        ],
        [
            *("S-000001 Commission 2026-11 Harbour Books GmbH", "04/12/2026", "vat", "1776", "Zero Rated Income"),
            *("-19.00", "", "", "", ""),
        ],
    ]


def test_xero_gets_documents_in_its_own_currency_alone() -> None:
    text = EXAMPLE.partition("[xero]")[0]
    found = entries(document(currency="GBP"), form="xero", text=text)
    assert refused(xero_journal, found, accounts(text, "xero")) == [
        ("xero", "is missing"),
        ("currency", "is EUR, and S-000001 is in GBP"),
    ]


def datev(*documents: StatementDocument, text: str = EXAMPLE) -> bytes:
    found = entries(*documents, form="datev", text=text)
    file = datev_journal(found, accounts(text, "datev"), MADE_AT, "November")
    check_datev(file)
    return file


def postings(file: bytes) -> list[dict[str, str]]:
    _, columns, *rows = rows_of(file, ";", "cp1252")
    return [{name: cell for name, cell in zip(columns, row, strict=True) if cell} for row in rows]


def test_a_datev_file_has_its_header_its_125_columns_and_its_line_ends() -> None:
    header, columns, posting, _, end = datev(document()).decode("cp1252").split("\r\n")
    assert header == (
        '"EXTF";700;21;"Buchungsstapel";13;20261205093001234;;;;;1001;1;20260101;4;20261204;20261204;"November";"";'
        '1;0;0;"EUR";;"";;;"";;;;""'
    )
    assert len(header.split(";")) == 31
    assert (len(columns.split(";")), columns.split(";")[-1]) == (125, "Abw. Skontokonto")
    assert posting.startswith(
        '100,00;"S";"EUR";;;;10042;8400;;0412;"S-000001";;;"Commission 2026-11 Harbour Books GmbH";'
    )
    assert end == ""


def test_a_datev_row_moves_an_amount_between_two_accounts() -> None:
    names = ("Umsatz (ohne Soll/Haben-Kz)", "Soll/Haben-Kennzeichen", "Konto", "Gegenkonto (ohne BU-Schlüssel)")
    found = postings(datev(document(tax("100.00", "19.00"), tax("50.00", scheme="reverse_charge"), payments="60.00")))
    assert [tuple(one[name] for name in names) for one in found] == [
        ("100,00", "S", "10042", "8400"),
        ("19,00", "S", "10042", "1776"),
        ("50,00", "S", "10042", "8336"),
        ("60,00", "H", "10042", "1360"),
    ]
    assert [one.get("EU-Land u. UStID (Bestimmung)") for one in found] == [None, None, "DE136695976", None]


def test_a_commission_with_a_tax_key_is_posted_with_its_tax() -> None:
    text = EXAMPLE.replace('account = "8400"', 'account = "8400"\nvat_code = "3"')
    (found,) = postings(
        datev(document(tax("-100.00", "-19.00"), number="C_1.7", customer={"country": "DE"}), text=text)
    )
    assert found == {
        "Umsatz (ohne Soll/Haben-Kz)": "119,00",
        "Soll/Haben-Kennzeichen": "H",
        "WKZ Umsatz": "EUR",
        "Konto": "10042",
        "Gegenkonto (ohne BU-Schlüssel)": "8400",
        "BU-Schlüssel": "0003",
        "Belegdatum": "0412",
        "Belegfeld 1": "C_1-7",
        "Buchungstext": "Credit note 2026-11 42",
        "Festschreibung": "0",
    }


def test_a_foreign_amount_is_in_the_ledger_s_currency_too() -> None:
    """Each figure is the one that the document states, whatever its amount divided by the rate would be."""
    figures = in_euros(("50.01", "9.51"), rate="2", brought_forward="0.49", proceeds="1.01", payments="-0.24")
    foreign = document(
        currency="USD", tax_in=figures, opening="1.00", brought_forward="1.00", proceeds="2.00", payments="-0.50"
    )
    found = postings(datev(foreign))
    names = ("Umsatz (ohne Soll/Haben-Kz)", "WKZ Umsatz", "Kurs", "Basis-Umsatz", "WKZ Basis-Umsatz")
    assert [tuple(one[name] for name in names) for one in found] == [
        ("100,00", "USD", "2,000000", "50,01", "EUR"),
        ("19,00", "USD", "2,000000", "9,51", "EUR"),
        ("1,00", "USD", "2,000000", "0,49", "EUR"),
        ("2,00", "USD", "2,000000", "1,01", "EUR"),
        ("0,50", "USD", "2,000000", "0,24", "EUR"),
    ]
    (gross, *_) = postings(datev(foreign, text=EXAMPLE.replace('account = "8400"', 'account = "8400"\nvat_code = "3"')))
    assert gross["Basis-Umsatz"] == "59,52"


@pytest.mark.parametrize(
    ("currency", "rate", "payments"),
    [
        ("GBP", "0.8573", "1.00"),
        ("IDR", "19012.5", "1.00"),
        ("GBP", "0.9999995", "1.00"),
        ("KWD", "2", "1.005"),
        ("USD", "2", "12345678901.00"),
    ],
)
def test_what_datev_cannot_hold_in_a_foreign_currency_is_posted_in_that_of_the_ledger(
    currency: str, rate: str, payments: str
) -> None:
    figures = in_euros(("50.01", "9.51"), rate=rate, payments="0.50")
    found = postings(datev(document(currency=currency, tax_in=figures, payments=payments)))
    if rate == "0.9999995":
        assert [one["Kurs"] for one in found] == ["1,000000"] * 3
        return
    names = ("Umsatz (ohne Soll/Haben-Kz)", "Soll/Haben-Kennzeichen", "WKZ Umsatz", "Beleginfo - Inhalt 1")
    assert [tuple(one[name] for name in names) for one in found] == [
        ("50,01", "S", "EUR", currency),
        ("9,51", "S", "EUR", currency),
        ("0,50", "H", "EUR", currency),
    ]
    assert not any({"Kurs", "Basis-Umsatz", "WKZ Basis-Umsatz"} & one.keys() for one in found)


def test_an_amount_that_is_nothing_in_the_ledger_has_no_row() -> None:
    figures = in_euros(("50.01", "9.51"), rate="2", payments="0.00")
    found = postings(datev(document(currency="USD", tax_in=figures, payments="0.01")))
    assert [(one["Umsatz (ohne Soll/Haben-Kz)"], one["WKZ Umsatz"]) for one in found] == [
        ("50,01", "EUR"),
        ("9,51", "EUR"),
    ]


def test_a_vat_id_that_is_too_long_is_refused_and_not_cut() -> None:
    customer = {"country": "DE", "vat_id": "DE12345678901234"}
    found = entries(document(tax("1.00", scheme="reverse_charge"), customer=customer), form="datev")
    assert refused(datev_journal, found, accounts(form="datev"), MADE_AT, "") == [
        ("S-000001", "has the VAT id 'DE12345678901234'")
    ]


def test_letters_that_the_encoding_lacks_are_written_in_latin_ones() -> None:
    (found, _) = postings(datev(document(customer={"country": "DE", "legal_name": 'Żółw "Œuvre" 株 ' + "x" * 60})))
    assert found["Buchungstext"] == ('Commission 2026-11 Zólw "Œuvre" Zhu  ' + "x" * 60)[:58]


def test_what_datev_cannot_hold_is_named_at_once() -> None:
    text = EXAMPLE.replace('account = "8400"', 'account = "8400"\nvat_code = "20% (VAT)"')
    documents = [
        document(issued_on="2027-01-04"),
        document(number="S-000002", currency="GBP"),
        document(number="S-000003", payments="1.005"),
    ]
    found = entries(*documents, form="datev", text=text)
    assert refused(datev_journal, found, accounts(text, "datev"), MADE_AT, "") == [
        ("datev.fiscal_year", "begins twice, on 2026-01-01 and on 2027-01-01"),
        ("currency", "is EUR, and S-000002 is in GBP"),
        ("S-000003", "has the amount -1.005 EUR"),
        ("revenue.vat_code", "is 20% (VAT)"),
    ]
    without = EXAMPLE.partition("[datev]")[0]
    assert refused(datev_journal, [], accounts(without, "datev"), MADE_AT, "") == [
        ("datev", "is missing"),
        ("period", "has no entries"),
    ]


def test_an_account_is_at_most_one_digit_longer_than_those_of_the_general_ledger() -> None:
    text = EXAMPLE.replace('"42" = "10042"', '"42" = "1000042"')
    found = entries(document(), form="datev", text=text)
    assert refused(datev_journal, found, accounts(text, "datev"), MADE_AT, "") == [
        ("datev.account_length", "is 4, and the account 1000042 has 7 digits")
    ]
    with pytest.raises(MapProblemsError):
        accounts(EXAMPLE.replace('payments = "1360"', 'payments = "0000"'), "datev")


def test_the_fiscal_year_may_begin_on_any_day() -> None:
    text = EXAMPLE.replace("01-01", "12-05")
    header = datev(document(), text=text).partition(b"\r\n")[0].split(b";")
    assert header[12] == b"20251205"
    assert datev(document(issued_on="2026-12-05"), text=text).split(b";")[12] == b"20261205"


# ---------------------------------------------------------------- the law


def amounts(largest: int = 10**7) -> st.SearchStrategy[str]:
    return st.integers(-largest, largest).map(lambda cents: money.plain(Decimal(cents).scaleb(-2)))


def rows_of_tax() -> st.SearchStrategy[dict[str, Any]]:
    schemes = st.sampled_from(["standard", "reverse_charge", "exempt", "outside_scope"])
    taxed = st.builds(tax, amounts(), amounts())
    return st.one_of(taxed, st.builds(lambda base, scheme: tax(base, "0.00", scheme), amounts(), schemes))


def foreign(*rows: dict[str, Any], number: int, **amounts: Any) -> StatementDocument:
    """Return a document that states twice its amounts in euros, at an exchange rate that DATEV takes or does not."""

    def twice(amount: str) -> str:
        return money.plain(2 * Decimal(amount))

    others = {name: twice(amounts[name]) for name in ("brought_forward", "proceeds", "payments")}
    rate = ("0.5", "3.25")[number % 2]
    euros = in_euros(*((twice(row["base"]), twice(row["tax"])) for row in rows), rate=rate, **others)
    return document(*rows, number=f"S-{number}", tax_in=euros, **amounts)


documents_of_any_kind = st.builds(
    lambda rows, number, **amounts: foreign(*rows, number=number, **amounts),
    st.lists(rows_of_tax(), min_size=1, max_size=4),
    st.integers(0, 10**6),
    collects=st.sampled_from(["agency", "marketplace"]),
    opening=amounts(),
    brought_forward=amounts(),
    proceeds=amounts(),
    payments=amounts(),
    currency=st.sampled_from(["EUR", "GBP"]),
)


@pytest.mark.law
@given(st.lists(documents_of_any_kind, min_size=1, max_size=5, unique_by=lambda one: one.number))
@examples(200)
def test_every_document_balances_in_every_format(documents: list[StatementDocument]) -> None:
    plain = journal_entries(documents, accounts())
    sums: dict[str, Decimal] = defaultdict(Decimal)
    party: dict[str, Decimal] = defaultdict(Decimal)
    for _, number, *_, role, _, debit, credit, _, _ in rows_of(plain_journal(plain))[1:]:
        amount = Decimal(debit or "0") - Decimal(credit or "0")
        assert (debit == "") != (credit == "")
        assert amount
        sums[number] += amount
        party[number] += amount if role in {"receivable", "payable"} else 0
    assert not any(sums.values())
    for one in documents:
        assert party[one.number] == one.closing - (one.opening - one.brought_forward)

    own = [one for one in documents if one.account.currency == "EUR"]
    narrations: dict[str, Decimal] = defaultdict(Decimal)
    xero_map = accounts(form="xero")
    for row in rows_of(xero_journal(journal_entries(own, xero_map), xero_map))[1:]:
        narrations[row[0]] += Decimal(row[5])
    assert not any(narrations.values())

    found = entries(*documents, form="datev")
    if not found:
        return
    moved: dict[str, Decimal] = defaultdict(Decimal)
    file = datev_journal(found, accounts(form="datev"), MADE_AT, "a-b\N{EM DASH}c")
    check_datev(file)
    for posting in postings(file):
        size = Decimal(posting[DATEV_COLUMNS[0]].replace(",", "."))
        assert size > 0
        assert (posting["WKZ Umsatz"] == "EUR") == ("Kurs" not in posting)
        if "Kurs" in posting:
            assert Decimal(posting["Basis-Umsatz"].replace(",", ".")) == 2 * size
        elif posting.get("Beleginfo - Inhalt 1") == "GBP":
            size /= 2
        moved[posting["Belegfeld 1"]] += size if posting["Soll/Haben-Kennzeichen"] == "S" else -size
    assert moved == {number: change for number, change in party.items() if number in moved}
