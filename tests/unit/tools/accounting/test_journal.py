"""Journal entries: figures by hand, what the map lacks, and the law that everything balances in every format."""

from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour_tools.accounting.account_map import AccountMap, MapProblemsError
from quarterhour_tools.accounting.datev import COLUMNS as DATEV_COLUMNS
from quarterhour_tools.accounting.datev import datev_files
from quarterhour_tools.accounting.document import PaidAmount, StatementDocument
from quarterhour_tools.accounting.journal_csv import COLUMNS, plain_journal
from quarterhour_tools.accounting.journal_entries import JournalEntry, Role, journal_entries
from quarterhour_tools.accounting.journal_files import JournalFiles
from quarterhour_tools.accounting.xero import BILL_COLUMNS, INVOICE_COLUMNS, xero_files
from tests.support.accounting import EXAMPLE, accounts, content, document, in_euros, rows_of, tax
from tests.support.datev_format import check_datev
from tests.support.laws import examples

MADE_AT = datetime(2026, 12, 5, 9, 30, 1, 234_000, UTC)

Line = tuple[str, str, str]


def lines(*documents: StatementDocument, map_: AccountMap | None = None) -> list[Line]:
    journal = journal_entries(documents, map_ or accounts())
    assert not journal.problems
    return [
        (line.role.value, line.account, money.plain(line.amount)) for one in journal.entries for line in one.lines()
    ]


def lacking(*documents: StatementDocument, text: str = EXAMPLE, form: str = "csv") -> list[tuple[str, str]]:
    return [(one.field, one.problem) for one in journal_entries(documents, accounts(text, form)).problems]


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
    journal = journal_entries([StatementDocument.parse(content() | changed), document(number="S-000002")], accounts())
    assert [(one.field, one.problem) for one in journal.problems] == [("S-000001", f"does not balance: {message}")]
    assert [one.document.number for one in journal.entries] == ["S-000002"], "what is right is not held up"


def test_payments_that_are_not_those_of_the_document_make_no_entry() -> None:
    unread = StatementDocument.parse(content(payments="20.00"))
    assert lacking(unread)[0][1].endswith("the payments of its lines make 0, and payments is 20.00")


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
    journal = journal_entries(documents, accounts(text, form))
    assert not journal.problems
    return journal.entries


def refused(write: Any, *arguments: Any) -> list[tuple[str, str]]:
    with pytest.raises(MapProblemsError) as raised:
        write(*arguments)
    return [(one.field, one.problem) for one in raised.value.problems]


KEYED = EXAMPLE.replace('account = "8400"\nautomatic = true', 'account = "8400"\nvat_code = "3"')
"""The example without an automatic account for 19 %."""


def test_the_plain_file_has_debits_and_credits() -> None:
    file = plain_journal(entries(document(agency="=42", customer={"country": "DE"}), form="csv", text=KEYED))
    begins = ("2026-12-04", "S-000001", "statement", "2026-11", "'=42", "EUR")
    ends = ("Commission 2026-11 =42", "2026-11-30", "2026-12-18", "", "")
    assert rows_of(file) == [
        list(COLUMNS),
        [*begins, "receivable", "10000", "119.00", "", "", *ends],
        [*begins, "revenue", "8400", "", "100.00", "3", *ends],
        [*begins, "vat", "1776", "", "19.00", "3", *ends],
    ]


def test_a_payment_has_its_own_date_and_text_and_names_what_it_clears() -> None:
    paid = [
        PaidAmount(date(2026, 11, 9), Decimal("60.00"), statement="S-000000", reason="transfer 8"),
        PaidAmount(date(2026, 11, 12), Decimal("-5.00")),
    ]
    file = plain_journal(entries(document(payments="55.00", paid=paid), form="csv"))
    names = ("date", "role", "debit", "credit", "text", "service_date", "due_date", "clears")
    found = [dict(zip(COLUMNS, row, strict=True)) for row in rows_of(file)[1:]]
    assert [tuple(row[name] for name in names) for row in found[3:]] == [
        ("2026-11-09", "receivable", "", "60.00", "Payment Harbour Books GmbH: transfer 8", "", "", "S-000000"),
        ("2026-11-09", "payments", "60.00", "", "Payment Harbour Books GmbH: transfer 8", "", "", "S-000000"),
        ("2026-11-12", "receivable", "5.00", "", "Payout Harbour Books GmbH", "", "", "S-000001"),
        ("2026-11-12", "payments", "", "5.00", "Payout Harbour Books GmbH", "", "", "S-000001"),
    ]


def test_what_is_charged_is_dated_on_issue_or_at_the_end_of_the_period() -> None:
    both = document(payments="60.00", brought_forward="1.00", opening="1.00")
    journal = journal_entries([both], accounts(), at_period_end=True)
    assert [f"{one.day}" for one in journal.entries[0].postings] == ["2026-11-30", "2026-11-30", "2026-11-20"]
    journal = journal_entries([both], accounts())
    assert [f"{one.day}" for one in journal.entries[0].postings] == ["2026-12-04", "2026-12-04", "2026-11-20"]


# ---------------------------------------------------------------- in place of money


def in_place(kind: str, amount: str, statement: str = "S-000000", **more: Any) -> StatementDocument:
    """Return a document with a payment of a kind."""
    paid = PaidAmount(date(2026, 11, 20), Decimal(amount), kind, statement, id="w1")
    return document(tax("0.00"), payments=amount, paid=[paid], **more)


CLEARED = document(tax("253.42", "48.15"), tax("50.00", scheme="reverse_charge"), number="S-000000", period="2026-10")


def booked(one: StatementDocument, cleared: StatementDocument = CLEARED, text: str = EXAMPLE) -> list[Line]:
    journal = journal_entries([one], accounts(text), {cleared.number: cleared})
    assert not journal.problems
    return [
        (line.role.value, line.account, money.plain(line.amount)) for one in journal.entries for line in one.lines()
    ]


def test_each_kind_of_payment_has_its_own_account() -> None:
    assert booked(in_place("bank_charges", "2.03")) == [("receivable", "10042", "-2.03"), ("payments", "4970", "2.03")]
    assert booked(in_place("write_off", "-2.03", "")) == [
        ("receivable", "10042", "2.03"),
        ("payments", "2400", "-2.03"),
    ]


def test_a_bad_debt_corrects_the_vat_of_what_it_clears_in_proportion() -> None:
    """Half of 351.57: 150.785 of 301.57 with 19 %, and 25 without VAT; the VAT is half of 48.15."""
    assert booked(in_place("bad_debt", "175.79")) == [
        ("receivable", "10042", "-150.79"),
        ("payments", "2406", "126.71"),
        ("vat", "1776", "24.08"),
        ("receivable", "10042", "-25.00"),
        ("payments", "2400", "25.00"),
    ]


def test_a_bad_debt_whose_vat_is_not_known_is_left_out_with_the_reason() -> None:
    others = [document(number="S-000000", agency="43"), document(number="S-000009")]
    for cleared in others:
        journal = journal_entries([in_place("bad_debt", "9.00")], accounts(), {cleared.number: cleared})
        (problem,) = journal.problems
        assert problem.problem == "has the payment 'w1' of the kind bad_debt, whose VAT is not known"
    assert lacking(in_place("gift", "9.00")) == [("payment", "has no entry for gift (S-000001)")]
    text = EXAMPLE.replace('kind = "bad_debt"\naccount = "2400"\nautomatic = false\nvat_account = "1770"', "").replace(
        "[[payment]]\n\n", ""
    )
    reduced = document(tax("100.00", "7.00", percent="7"), number="S-000000")
    journal = journal_entries([in_place("bad_debt", "9.00")], accounts(text), {"S-000000": reduced})
    assert [(one.field, one.problem) for one in journal.problems] == [
        ("payment", "has no entry for bad_debt, 7 % (S-000001)")
    ]


def test_parts_of_payments_add_up_to_what_the_document_states_in_the_issuer_s_currency() -> None:
    paid = [PaidAmount(date(2026, 11, day), Decimal("0.33")) for day in (1, 2, 3)]
    figures = in_euros(("50.01", "9.51"), rate="2", payments="0.50")
    (entry,) = entries(document(payments="0.99", paid=paid, tax_in=figures, currency="USD"), form="csv")
    found = [one.issuer.gross for one in entry.postings if one.role is Role.PAYMENTS and one.issuer]
    assert (len(found), sum(found)) == (3, Decimal("-0.50"))


# ---------------------------------------------------------------- Xero

CODED = EXAMPLE.replace('account = "8400"\nautomatic = true', 'account = "8400"\nvat_code = "20% (VAT)"').replace(
    'account = "2406"\nautomatic = true', 'account = "2406"\nvat_code = "20% (VAT)"'
)


def xero(*documents: StatementDocument, text: str = CODED) -> JournalFiles:
    return xero_files(entries(*documents, form="xero", text=text), accounts(text, "xero"))


def filled(file: bytes) -> list[dict[str, str]]:
    columns, *rows = rows_of(file)
    return [{name: cell for name, cell in zip(columns, row, strict=True) if cell} for row in rows]


def test_xero_gets_sales_invoices_with_contact_number_and_due_date() -> None:
    files = xero(document(payments="60.00", currency="GBP")).files
    assert files.keys() == {""}, "money comes with the bank's feed"
    assert rows_of(files[""])[0] == list(INVOICE_COLUMNS)
    assert filled(files[""]) == [
        {
            "*ContactName": "Harbour Books GmbH",
            "*InvoiceNumber": "S-000001",
            "Reference": "2026-11",
            "*InvoiceDate": "04/12/2026",
            "*DueDate": "18/12/2026",
            "*Description": "Commission 2026-11 Harbour Books GmbH",
            "*Quantity": "1",
            "*UnitAmount": "100.00",
            "*AccountCode": "8400",
            "*TaxType": "20% (VAT)",
            "TaxAmount": "19.00",
            "Currency": "GBP",
        }
    ]


def test_xero_gets_a_bill_for_the_proceeds_of_customers_and_dates_in_the_organisation_s_form() -> None:
    text = CODED.replace('"dd/mm/yyyy"', '"mm/dd/yyyy"')
    files = xero(document(collects="marketplace", proceeds="1000.00"), text=text).files
    (invoice,), (bill,) = filled(files[""]), filled(files["-bills"])
    assert rows_of(files["-bills"])[0] == list(BILL_COLUMNS)
    assert (invoice["*InvoiceDate"], invoice["*DueDate"]) == ("12/04/2026", "12/18/2026")
    names = ("*InvoiceNumber", "*UnitAmount", "*AccountCode", "*TaxType", "*DueDate", "Description")
    assert [bill[name] for name in names] == [
        *("S-000001", "1000.00", "1590", "No VAT", "12/04/2026", "Proceeds 2026-11 Harbour Books GmbH"),
    ]


def test_xero_gets_a_credit_note_for_what_stands_in_place_of_money() -> None:
    journal = journal_entries([in_place("bad_debt", "119.00")], accounts(CODED, "xero"), {"S-000000": document()})
    assert not journal.problems
    (credit,) = filled(xero_files(journal.entries, accounts(CODED, "xero")).files[""])
    names = ("*InvoiceNumber", "Reference", "*UnitAmount", "TaxAmount", "*AccountCode", "*TaxType")
    assert [credit[name] for name in names] == ["S-000001/1", "S-000000", "-100.00", "-19.00", "2406", "20% (VAT)"]


def test_a_document_whose_tax_rate_xero_has_not_is_left_out() -> None:
    found = xero(document(), document(tax("5.00", scheme="exempt"), number="S-000002"), text=EXAMPLE)
    assert [(one.field, one.problem) for one in found.problems] == [("revenue[1].vat_code", "is missing (S-000001)")]
    assert [row["*InvoiceNumber"] for row in filled(found.files[""])] == ["S-000002"]
    without = EXAMPLE.partition("[xero]")[0]
    assert refused(xero_files, [], accounts(without, "xero")) == [("xero", "is missing")]


# ---------------------------------------------------------------- DATEV


def datev(*documents: StatementDocument, text: str = EXAMPLE) -> bytes:
    made = datev_files(entries(*documents, form="datev", text=text), accounts(text, "datev"), MADE_AT, "November")
    assert not made.problems
    (file,) = made.files.values()
    check_datev(file)
    return file


def unfit(*documents: StatementDocument, text: str = EXAMPLE) -> list[tuple[str, str]]:
    """Return the problems of documents that DATEV cannot hold; none of them is written."""
    made = datev_files(entries(*documents, form="datev", text=text), accounts(text, "datev"), MADE_AT, "")
    assert not made.files
    assert made.left_out == {one.number for one in documents}
    return [(one.field, one.problem) for one in made.problems]


def postings(file: bytes) -> list[dict[str, str]]:
    _, columns, *rows = rows_of(file, ";", "cp1252")
    return [{name: cell for name, cell in zip(columns, row, strict=True) if cell} for row in rows]


def test_a_datev_file_has_its_header_its_125_columns_and_its_line_ends() -> None:
    header, columns, posting, end = datev(document()).decode("cp1252").split("\r\n")
    assert header == (
        '"EXTF";700;21;"Buchungsstapel";13;20261205093001234;;;;;1001;1;20260101;4;20261204;20261204;"November";"";'
        '1;0;0;"EUR";;"";;;"";;;;""'
    )
    assert len(header.split(";")) == 31
    assert (len(columns.split(";")), columns.split(";")[-1]) == (125, "Abw. Skontokonto")
    assert posting.startswith(
        '119,00;"S";"EUR";;;;10042;8400;;0412;"S-000001";;;"Commission 2026-11 Harbour Books GmbH";'
    )
    assert end == ""


def test_a_datev_row_moves_an_amount_between_two_accounts() -> None:
    names = ("Umsatz (ohne Soll/Haben-Kz)", "Soll/Haben-Kennzeichen", "Konto", "Gegenkonto (ohne BU-Schlüssel)")
    found = postings(datev(document(tax("100.00", "19.00"), tax("50.00", scheme="reverse_charge"), payments="60.00")))
    assert [tuple(one[name] for name in names) for one in found] == [
        ("119,00", "S", "10042", "8400"),
        ("50,00", "S", "10042", "8336"),
        ("60,00", "H", "10042", "1360"),
    ]
    assert [one.get("EU-Land u. UStID (Bestimmung)") for one in found] == [None, "DE136695976", None]


NET = EXAMPLE.replace('account = "8400"', 'account = "8400"\nrows = "net"', 1)
"""The example with an automatic account that gets amounts without their VAT."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (EXAMPLE, [("301,57", "8400", None)]),
        (NET, [("253,42", "8400", "0040"), ("48,15", "1776", None)]),
        (KEYED, [("301,57", "8400", "0003")]),
        (
            EXAMPLE.replace("automatic = true", "automatic = false", 1),
            [("253,42", "8400", None), ("48,15", "1776", None)],
        ),
        (EXAMPLE.replace("automatic = true\n", "", 1), [("253,42", "8400", "0040"), ("48,15", "1776", None)]),
    ],
)
def test_vat_is_posted_once_whether_datev_takes_it_out_of_an_amount_or_not(
    text: str, expected: list[tuple[str, str, str | None]]
) -> None:
    """An automatic account takes 19/119 out of 301.57, which is 48.15; out of 253.42 it would take 40.46 once more."""
    found = postings(datev(document(tax("253.42", "48.15"), number="S-000018"), text=text))
    names = ("Umsatz (ohne Soll/Haben-Kz)", "Gegenkonto (ohne BU-Schlüssel)", "BU-Schlüssel")
    assert [tuple(one.get(name) for name in names) for one in found] == expected


def test_an_automatic_account_has_no_tax_key_and_one_percentage() -> None:
    with pytest.raises(MapProblemsError, match=r"revenue\[1\]\.vat_code is given, though the account is automatic"):
        accounts(EXAMPLE.replace("automatic = true", 'automatic = true\nvat_code = "3"', 1), "datev")
    with pytest.raises(MapProblemsError, match=r"revenue\[2\]\.percent is missing: expected the percentage"):
        accounts(EXAMPLE.replace("automatic = false", "automatic = true", 1), "datev")


def test_a_row_has_the_dates_of_service_of_its_tax_period_and_when_it_is_due() -> None:
    earlier = {**tax("-5.00", "-0.95"), "tax_points": [{"from": "2026-09-30", "to": "2026-10-03"}]}
    rows = [tax("100.00", "19.00"), {**earlier, "percent": "16"}]
    found = postings(datev(document(*rows, payments="60.00")))
    names = ("Belegdatum", "Leistungsdatum", "Datum Zuord. Steuerperiode", "Fälligkeit", "Buchungstext")
    assert [tuple(one.get(name) for name in names) for one in found] == [
        ("0412", "30112026", "30112026", "18122026", "Commission 2026-11 Harbour Books GmbH"),
        ("0412", "03102026", "30112026", "18122026", "Commission 2026-11 Harbour Books GmbH"),
        ("0412", "03102026", "30112026", "18122026", "Commission 2026-11 Harbour Books GmbH"),
        ("2011", None, None, None, "Payment Harbour Books GmbH"),
    ]


def test_a_commission_with_a_tax_key_is_posted_with_its_tax() -> None:
    (found,) = postings(
        datev(document(tax("-100.00", "-19.00"), number="C_1.7", customer={"country": "DE"}), text=KEYED)
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
        "Leistungsdatum": "30112026",
        "Datum Zuord. Steuerperiode": "30112026",
    }


def test_a_foreign_amount_is_in_the_ledger_s_currency_too() -> None:
    """Each figure is the one that the document states, whatever its amount divided by the rate would be."""
    figures = in_euros(("50.01", "9.51"), rate="2", brought_forward="0.49", proceeds="1.01", payments="-0.24")
    foreign = document(
        currency="USD", tax_in=figures, opening="1.00", brought_forward="1.00", proceeds="2.00", payments="-0.50"
    )
    found = postings(datev(foreign, text=NET))
    names = ("Umsatz (ohne Soll/Haben-Kz)", "WKZ Umsatz", "Kurs", "Basis-Umsatz", "WKZ Basis-Umsatz")
    assert [tuple(one[name] for name in names) for one in found] == [
        ("100,00", "USD", "2,000000", "50,01", "EUR"),
        ("19,00", "USD", "2,000000", "9,51", "EUR"),
        ("1,00", "USD", "2,000000", "0,49", "EUR"),
        ("2,00", "USD", "2,000000", "1,01", "EUR"),
        ("0,50", "USD", "2,000000", "0,24", "EUR"),
    ]
    (gross, *_) = postings(datev(foreign, text=KEYED))
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
    found = postings(datev(document(currency=currency, tax_in=figures, payments=payments), text=NET))
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
    found = postings(datev(document(currency="USD", tax_in=figures, payments="0.01"), text=NET))
    assert [(one["Umsatz (ohne Soll/Haben-Kz)"], one["WKZ Umsatz"]) for one in found] == [
        ("50,01", "EUR"),
        ("9,51", "EUR"),
    ]


def test_a_document_with_three_decimals_is_posted_in_the_currency_of_the_ledger() -> None:
    figures = in_euros(("73.84", "14.03"), rate="0.325880")
    kuwaiti = document(tax("24.063", "4.572"), currency="KWD", tax_in=figures, number="S-000019")
    (found,) = postings(datev(kuwaiti))
    assert (found["Umsatz (ohne Soll/Haben-Kz)"], found["WKZ Umsatz"], found["Beleginfo - Inhalt 1"]) == (
        *("87,87", "EUR", "KWD"),
    )


def test_what_datev_cannot_hold_keeps_no_other_document_out_of_the_file() -> None:
    unknown = document(tax("24.063", "4.572"), currency="KWD", number="S-000019")
    made = datev_files(entries(unknown, document(), form="datev"), accounts(form="datev"), MADE_AT, "")
    assert [row["Belegfeld 1"] for row in postings(made.files[""])] == ["S-000001"]
    assert list(made.left_out) == [made.problems[0].field] == ["S-000019"]


def test_a_vat_id_that_is_too_long_is_refused_and_not_cut() -> None:
    customer = {"country": "DE", "vat_id": "DE12345678901234"}
    assert unfit(document(tax("1.00", scheme="reverse_charge"), customer=customer)) == [
        ("S-000001", "has the VAT id 'DE12345678901234'")
    ]


def test_letters_that_the_encoding_lacks_are_written_in_latin_ones() -> None:
    (found,) = postings(datev(document(customer={"country": "DE", "legal_name": 'Żółw "Œuvre" 株 ' + "x" * 60})))
    assert found["Buchungstext"] == ('Commission 2026-11 Zólw "Œuvre" Zhu  ' + "x" * 60)[:58]


def test_what_datev_cannot_hold_is_named_at_once() -> None:
    documents = [
        document(number="S-000002", currency="GBP"),
        document(number="S-000003", payments="1.005"),
    ]
    assert unfit(*documents, text=KEYED.replace('vat_code = "3"', 'vat_code = "20% (VAT)"')) == [
        ("S-000002", "is in GBP, without its exchange rate in EUR"),
        ("revenue[1].vat_code", "is 20% (VAT)"),
        ("S-000003", "has the amount -1.005 EUR"),
    ]
    without = EXAMPLE.partition("[datev]")[0]
    assert refused(datev_files, [], accounts(without, "datev"), MADE_AT, "") == [("datev", "is missing")]


def test_each_fiscal_year_has_a_file() -> None:
    """A payment of December is on a statement that is issued in January."""
    paid = [PaidAmount(date(2026, 12, 20), Decimal("60.00"))]
    january = document(period="2026-12", issued_on="2027-01-04", payments="60.00", paid=paid)
    files = datev_files(entries(january, form="datev"), accounts(form="datev"), MADE_AT, "").files
    assert {name: [row["Belegdatum"] for row in postings(file)] for name, file in files.items()} == {
        "-2026": ["2012"],
        "": ["0401"],
    }


def test_an_account_is_at_most_one_digit_longer_than_those_of_the_general_ledger() -> None:
    text = EXAMPLE.replace('"42" = "10042"', '"42" = "1000042"')
    assert unfit(document(), text=text) == [("datev.account_length", "is 4, and the account 1000042 has 7 digits")]
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
    plain = journal_entries(documents, accounts()).entries
    sums: dict[str, Decimal] = defaultdict(Decimal)
    party: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows_of(plain_journal(plain))[1:]:
        number, role, debit, credit = (row[COLUMNS.index(name)] for name in ("number", "role", "debit", "credit"))
        amount = Decimal(debit or "0") - Decimal(credit or "0")
        assert (debit == "") != (credit == "")
        assert amount
        sums[number] += amount
        party[number] += amount if role in {"receivable", "payable"} else 0
    assert not any(sums.values())
    for one in documents:
        assert party[one.number] == one.closing - (one.opening - one.brought_forward)

    invoices: dict[str, Decimal] = defaultdict(Decimal)
    made = xero(*documents, text=CODED.replace('account = "8200"', 'account = "8200"\nvat_code = "7%"')).files
    for sign, file in ((1, made[""]), (-1, made.get("-bills", b""))):
        for line in filled(file) if file else ():
            invoices[line["*InvoiceNumber"]] += sign * (Decimal(line["*UnitAmount"]) + Decimal(line["TaxAmount"]))
    for one in documents:
        assert invoices[one.number] == one.amount

    found = entries(*documents, form="datev")
    if not found:
        return
    moved: dict[str, Decimal] = defaultdict(Decimal)
    (file,) = datev_files(found, accounts(form="datev"), MADE_AT, "a-b\N{EM DASH}c").files.values()
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
