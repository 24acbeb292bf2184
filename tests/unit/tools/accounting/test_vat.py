"""VAT by country, scheme and percentage, in the document's and in the issuer's currency; the EC sales list."""

import argparse
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from quarterhour.model.identifiers import Account
from quarterhour.registry.agencies.vat_ids import MEMBER_STATES
from quarterhour_tools.accounting.document import IssuerFigures, PaidAmount, StatementDocument, TaxedBase
from quarterhour_tools.accounting.documents import span
from quarterhour_tools.accounting.vat import TaxSums, charged, corrected, ec_sales_of, vat_of
from quarterhour_tools.cli import main
from tests.support.accounting import CUSTOMER, OWNER, content, document, in_euros, rows_of, tax, write_period


def plain(sums: dict[Any, TaxSums]) -> list[tuple[Any, ...]]:
    return [(*map(str, key), *one.as_dict().values()) for key, one in sums.items()]


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("2026-11", "2026-11"), ("2026-Q1", "2026-01/2026-03"), ("2026-Q4", "2026-10/2026-12"),
        ("2026", "2026-01/2026-12"), ("2026-08/2027-01", "2026-08/2027-01"), ("2026-08/2026-08", "2026-08"),
    ],
)  # fmt: skip
def test_months_can_be_chosen_one_by_one_by_three_by_year_or_from_one_to_another(text: str, months: str) -> None:
    assert str(span(text)) == months


@pytest.mark.parametrize("text", ["2026-Q5", "2026-13", "Q4", "2026-12/2026-11", "2026/", "", "2026-Q1/2026-Q2"])
def test_other_texts_are_no_months(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        span(text)


def test_each_row_is_of_the_country_and_the_vat_id_of_its_tax_points() -> None:
    """An agency moved from Germany to France in mid-month, so the customer of the document is French."""
    german = {**tax("197.89", "37.60"), "country": "DE", "vat_id": "DE136695976"}
    french = {**tax("159.24", scheme="reverse_charge"), "country": "FR", "vat_id": "FR40303265045"}
    moved = document(german, french, customer={"country": "FR", "vat_id": "FR40303265045"})
    sums = {
        (kind.country, kind.scheme): (str(some.base), str(some.tax)) for kind, some in vat_of(charged([moved])).items()
    }
    assert sums == {("DE", "standard"): ("197.89", "37.60"), ("FR", "reverse_charge"): ("159.24", "0.00")}
    ((sold, some),) = ec_sales_of(charged([moved])).items()
    assert (sold.country, sold.vat_id, str(some.base)) == ("FR", "FR40303265045", "159.24")
    back = document(german, french, customer={"country": "DE", "vat_id": "DE136695976"})
    assert list(ec_sales_of(charged([back]))) == [sold]


def test_documents_are_summed_up_by_country_scheme_percentage_and_currency() -> None:
    documents = [
        document(),
        document(tax("50.00", "9.50", percent="19.0"), tax("10.00", scheme="exempt"), number="S-000002"),
        document(tax("-30.00", "-5.70"), number="C-000001"),
        document(tax("8.00", scheme="outside_scope"), tax("0.00", "0.00"), customer={}, base=None, number="S-000003"),
    ]
    assert plain(vat_of(charged(documents))) == [
        ("", "outside_scope", "0", "EUR", "", 1, "8.00", "0.00", None, None, None),
        ("DE", "exempt", "0", "EUR", "", 1, "10.00", "0.00", "EUR", "10.00", "0.00"),
        ("DE", "standard", "19", "EUR", "", 3, "120.00", "22.80", "EUR", "120.00", "22.80"),
    ]


def test_a_foreign_document_has_the_figures_that_it_states_in_the_issuer_s_currency() -> None:
    figures = in_euros(("33.34", "6.33"), ("33.33", "0.00"), rate="3")
    one = document(tax("100.00", "19.00"), tax("100.00", scheme="exempt"), currency="GBP", tax_in=figures)
    assert [row.issuer for row in one.taxes] == [
        IssuerFigures("EUR", Decimal("33.34"), Decimal("6.33")),
        IssuerFigures("EUR", Decimal("33.33"), Decimal("0.00")),
    ]


def test_a_sum_with_a_document_that_is_not_known_in_the_issuer_s_currency_is_not_known_either() -> None:
    known = document(currency="GBP", tax_in=in_euros(("33.33", "6.33"), rate="3"))
    found = vat_of(charged([known, document(currency="GBP", number="S-000002"), known]))
    assert plain(found) == [("DE", "standard", "19", "GBP", "", 3, "300.00", "57.00", None, None, None)]


def test_the_ec_sales_list_has_the_reverse_charge_in_other_member_states() -> None:
    reverse = tax("100.00", scheme="reverse_charge")
    documents = [
        document(reverse, customer={**CUSTOMER, "vat_id": "DE136695976", "country": "AT"}),
        document(reverse, tax("5.00", scheme="exempt"), number="S-000002"),
        document(reverse, customer={"country": "FR"}, number="S-000003"),
        document(reverse, customer={"country": "NL"}, number="S-000004"),
        document(reverse, customer={"country": "GB"}, number="S-000005"),
        document(reverse, customer={"country": "GR", "vat_id": "EL094259216"}, number="S-000007"),
        document(reverse, customer={"country": "MC", "vat_id": "FR96684482565"}, number="S-000008"),
        document(number="S-000006"),
    ]
    found = ec_sales_of(charged(documents))
    assert [(*key, one.documents, str(one.base)) for key, one in found.items()] == [
        ("DE", "DE136695976", "EUR", 2, "200.00"),
        ("EL", "EL094259216", "EUR", 1, "100.00"),
        ("FR", "", "EUR", 1, "100.00"),
        ("FR", "FR96684482565", "EUR", 1, "100.00"),
    ]


def in_place(kind: str, amount: str, statement: str = "S-000000", day: int = 20) -> StatementDocument:
    paid = PaidAmount(date(2026, 11, day), Decimal(amount), kind, statement, id="w1")
    return document(tax("0.00"), payments=amount, paid=[paid])


CLEARED = document(
    tax("253.42", "48.15"), tax("50.00", scheme="reverse_charge"), number="S-000000", period="2026-10",
    owner={**OWNER, "country": "NL"},
)  # fmt: skip


def test_bad_debts_and_cash_discounts_correct_what_the_statement_that_they_clear_charges() -> None:
    """Half of 351.57: 150.785 of 301.57 with 19 %, and 25 by reverse charge."""
    both = [in_place("bad_debt", "175.79"), in_place("cash_discount", "35.16"), in_place("write_off", "9.00", "")]
    rows, problems = corrected(both, {"S-000000": CLEARED}, lambda _: True)
    assert not problems
    assert plain(vat_of([*charged([CLEARED, *both]), *rows])) == [
        ("DE", "reverse_charge", "0", "EUR", "", 1, "50.00", "0.00", "EUR", "50.00", "0.00"),
        ("DE", "reverse_charge", "0", "EUR", "bad_debt", 1, "-25.00", "0.00", "EUR", "-25.00", "0.00"),
        ("DE", "reverse_charge", "0", "EUR", "cash_discount", 1, "-5.00", "0.00", "EUR", "-5.00", "0.00"),
        ("DE", "standard", "19", "EUR", "", 1, "253.42", "48.15", "EUR", "253.42", "48.15"),
        ("DE", "standard", "19", "EUR", "bad_debt", 1, "-126.71", "-24.08", "EUR", "-126.71", "-24.08"),
        ("DE", "standard", "19", "EUR", "cash_discount", 1, "-25.34", "-4.82", "EUR", "-25.34", "-4.82"),
    ]
    (sold,) = ec_sales_of([*charged([CLEARED]), *rows]).values()
    assert (sold.documents, str(sold.base)) == (3, "20.00")


def test_a_correction_is_of_the_day_of_its_payment_and_one_without_a_statement_is_named() -> None:
    late = in_place("bad_debt", "9.00", day=30)
    rows, problems = corrected([late], {"S-000000": CLEARED}, lambda day: day.day < 30)
    assert (rows, problems) == ([], [])
    for named in ({}, {"S-000000": document(number="S-000000", agency="43")}):
        rows, problems = corrected([late], named, lambda _: True)
        assert rows == []
        assert [one.problem for one in problems] == [
            "has the payment 'w1' of the kind bad_debt, whose VAT is not known"
        ]


def test_the_union_has_27_member_states() -> None:
    assert len(MEMBER_STATES) == 27


def test_a_row_over_nothing_is_zero_and_one_with_a_tax_alone_is_not() -> None:
    assert TaxedBase("standard", Decimal(19), Decimal("0.00"), Decimal(0)).is_zero
    assert not TaxedBase("standard", Decimal(19), Decimal("0.00"), Decimal("0.01")).is_zero


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_period(tmp_path, [content(), content(tax("-7.00", scheme="reverse_charge"), agency="43", number="C-000001")])
    return tmp_path


def test_the_command_prints_a_table_json_or_writes_csv(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vat", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "VAT of 2026-11" in printed
    assert ["DE", "standard", "19", "EUR", "1", "100.00", "19.00", "EUR", "100.00", "19.00"] in [
        line.split() for line in printed.splitlines()
    ]
    assert main(["vat", str(folder), "--period", "2026-11", "--ec-sales", "--json"]) == 0
    row = {"country": "DE", "vat_id": "DE136695976", "currency": "EUR", "documents": 1, "base": "-7.00"}
    assert json.loads(capsys.readouterr().out) == {
        "period": "2026-11",
        "issued": None,
        "ec_sales": [{**row, "issuer_currency": "EUR", "issuer_base": "-7.00"}],
        "sums": [
            {
                "currency": "EUR", "base": "-7.00", "tax": "0.00",
                "issuer_currency": "EUR", "issuer_base": "-7.00", "issuer_tax": "0.00",
            }
        ],
    }  # fmt: skip
    file = folder / "vat.csv"
    assert main(["vat", str(folder), "--csv", str(file)]) == 0
    assert rows_of(file.read_bytes()) == [
        [
            *("country", "scheme", "percent", "currency", "correction", "documents", "base", "tax"),
            *("issuer_currency", "issuer_base", "issuer_tax"),
        ],
        ["DE", "reverse_charge", "0", "EUR", "", "1", "-7.00", "0.00", "EUR", "-7.00", "0.00"],
        ["DE", "standard", "19", "EUR", "", "1", "100.00", "19.00", "EUR", "100.00", "19.00"],
    ]


def test_the_documents_issued_in_a_month_are_those_of_all_periods_or_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """December issues a statement of November and a credit note of October; October's own was issued in November."""
    write_period(
        tmp_path,
        [
            content(period="2026-10", issued_on="2026-11-04"),
            content(tax("-40.00", "-7.60"), period="2026-10", agency="43", number="C-000001"),
        ],
        "2026-10",
    )
    write_period(tmp_path, [content(number="S-000002")])

    def summed(*arguments: str) -> tuple[str | None, str | None, list[tuple[int, str, str]]]:
        assert main(["vat", str(tmp_path), "--json", *arguments]) == 0
        found = json.loads(capsys.readouterr().out)
        rows = [(row["documents"], row["base"], row["tax"]) for row in found["vat"]]
        return found["period"], found["issued"], rows

    assert summed("--issued", "2026-12") == (None, "2026-12", [(2, "60.00", "11.40")])
    assert summed("--issued", "2026-11") == (None, "2026-11", [(1, "100.00", "19.00")])
    assert summed("--issued", "2026-12", "--period", "2026-10") == ("2026-10", "2026-12", [(1, "-40.00", "-7.60")])
    assert summed("--period", "2026-10") == ("2026-10", None, [(2, "60.00", "11.40")])
    both = [(3, "160.00", "30.40")]
    assert summed("--period", "2026-10/2026-11") == ("2026-10/2026-11", None, both)
    assert summed("--issued", "2026-Q4") == (None, "2026-10/2026-12", both)
    assert summed() == ("2026-11", None, [(1, "100.00", "19.00")])
    assert main(["vat", str(tmp_path), "--issued", "2026-12"]) == 0
    assert "VAT issued in 2026-12" in capsys.readouterr().out
    assert main(["vat", str(tmp_path), "--issued", "2026-12", "--period", "2026-09"]) == 2
    assert "2026-09 is not sealed; the sealed periods are 2026-10, 2026-11" in capsys.readouterr().err


LEDGER = """
currency = "EUR"
[accounts]
payments = "1360"
[receivable]
account = "10000"
[[revenue]]
scheme = "standard"
account = "8400"
vat_account = "1776"
[[payment]]
kind = "bad_debt"
account = "2406"
vat_account = "1776"
[[payment]]
kind = "cash_discount"
account = "8736"
vat_account = "1776"
[[payment]]
kind = "bank_charges"
account = "4970"
"""


def test_the_vat_accounts_of_the_ledger_are_what_the_returns_declare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By period as by the date of issue, where a payment counts in the month of its own day."""
    write_period(tmp_path, [content()])

    def paid(amount: str, day: str, kind: str, statement: str = "S-000001") -> dict[str, str]:
        line = {"type": "payment.recorded", "amount": amount, "time": f"{day}T09:00:00Z"}
        return {**line, "id": f"p{day}", "kind": kind, "statement": statement}

    december = [
        *(paid("60.00", "2026-12-08", "bank_charges"), paid("2.38", "2026-12-09", "cash_discount")),
        paid("56.62", "2026-11-30", "bad_debt"),  # recorded late
    ]
    second = content(
        tax("10.00", "1.90"), number="S-000002", period="2026-12", issued_on="2027-01-04", payments="119.00"
    )
    write_period(tmp_path, [second], "2026-12", payments={Account("42", "EUR"): december})
    lost = [paid("5.95", "2027-01-20", "bad_debt", "S-000002")]
    third = content(number="S-000003", period="2027-01", issued_on="2027-02-04", payments="5.95")
    write_period(tmp_path, [third], "2027-01", payments={Account("42", "EUR"): lost})
    (accounts := tmp_path / "accounts.toml").write_text(LEDGER, "utf-8")
    booked = []
    for period in ("2026-11", "2026-12", "2027-01"):
        out = tmp_path / "journal.csv"
        arguments = ["journal", str(tmp_path), "--period", period, "--accounts", str(accounts), "--out", str(out)]
        assert main(arguments) == 0
        for day, *_, role, _account, debit, credit in (row[:10] for row in rows_of(out.read_bytes())[1:]):
            if role == "vat":
                booked.append((period, day[:7], Decimal(credit or 0) - Decimal(debit or 0)))
    capsys.readouterr()

    def declared(*arguments: str) -> Decimal:
        assert main(["vat", str(tmp_path), "--json", *arguments]) == 0
        return sum((Decimal(row["tax"]) for row in json.loads(capsys.readouterr().out)["vat"]), Decimal(0))

    by_period = [declared("--period", one) for one in ("2026-11", "2026-12", "2027-01")]
    assert by_period == [Decimal("19.00"), Decimal("-7.52"), Decimal("18.05")]
    by_issue = [declared("--issued", one) for one in ("2026-11", "2026-12", "2027-01", "2027-02")]
    assert by_issue == [Decimal("-9.04"), Decimal("18.62"), Decimal("0.95"), Decimal("19.00")]
    for at, months, sums in (
        (0, "2026-11 2026-12 2027-01", by_period),
        (1, "2026-11 2026-12 2027-01 2027-02", by_issue),
    ):
        assert [sum(one[2] for one in booked if one[at] == month) for month in months.split()] == sums


def test_a_correction_without_a_statement_is_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {
        "type": "payment.recorded",
        "amount": "9.00",
        "time": "2026-11-09T09:00:00Z",
        "id": "w1",
        "kind": "bad_debt",
    }
    write_period(tmp_path, [content(payments="9.00")], payments={Account("42", "EUR"): [line]})
    assert main(["vat", str(tmp_path), "--csv", str(tmp_path / "vat.csv")]) == 1
    assert capsys.readouterr().err == (
        "S-000001 has the payment 'w1' of the kind bad_debt, whose VAT is not known: expected data.statement, the "
        "number of what it clears; left out\n"
    )
    assert len(rows_of((tmp_path / "vat.csv").read_bytes())) == 2
