"""The map of accounts: every wrong entry is named at once, and the closest entry of revenue applies."""

from decimal import Decimal

import pytest

from quarterhour_tools.accounting.account_map import MapProblemsError, read_account_map
from quarterhour_tools.accounting.document import IssuerFigures, KindPart, TaxedBase
from tests.support.accounting import EXAMPLE, accounts
from tests.support.cases import cases

ROW = TaxedBase("standard", Decimal(19), Decimal(100), Decimal(19))
REVENUE = '[[revenue]]\nscheme = "standard"\naccount = "8400"\n'


def problems(text: str, form: str = "csv") -> list[tuple[str, str]]:
    with pytest.raises(MapProblemsError) as raised:
        accounts(text, form)
    return [(one.field, one.problem) for one in raised.value.problems]


@pytest.mark.parametrize("form", ["csv", "datev", "xero"])
def test_the_example_fits_every_format(form: str) -> None:
    found = accounts(EXAMPLE, form)
    assert (found.currency, found.receivable.of("42"), found.receivable.of("43")) == ("EUR", "10042", "10000")
    assert {one.scheme for one in found.revenue} == {"standard", "reverse_charge", "exempt", "outside_scope"}


def test_all_wrong_entries_are_named_at_once() -> None:
    text = """
        currency = "Euro"
        surprise = 1
        [accounts]
        payments = ""
        bank = "1200"
        [receivable]
        account = true
        [receivable.agencies]
        "42" = "=1+1"
        [[revenue]]
        scheme = "flat"
        percent = 101
        country = "UK"
        [datev]
        consultant = 1000
        client = "1"
        fiscal_year = "02-30"
        account_length = 9
        [xero]
    """
    assert problems(text) == [
        ("surprise", "is not known"),
        ("currency", "is 'Euro'"),
        ("accounts.bank", "is not known"),
        ("accounts.payments", "is ''"),
        ("receivable.account", "is true"),
        ("receivable.agencies.42", "is '=1+1'"),
        ("revenue[1].scheme", "is 'flat'"),
        ("revenue[1].country", "is 'UK'"),
        ("revenue[1].percent", "is 101"),
        ("revenue[1].account", "is missing"),
        ("datev.consultant", "is 1000"),
        ("datev.client", "is '1'"),
        ("datev.fiscal_year", "is '02-30'"),
        ("datev.account_length", "is 9"),
        ("xero.dates", "is missing"),
        ("xero.no_tax", "is missing"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("currency", [("map", "is not TOML: Expected '=' after a key in a key/value pair (at end of document)")]),
        ('currency = "EUR"', [("revenue", "is missing")]),
        ('currency = "EUR"\naccounts = 1\n' + REVENUE, [("accounts", "is 1")]),
        ('currency = "EUR"\nrevenue = [1]', [("revenue[1]", "is no table")]),
        (
            'currency = "EUR"\n' + REVENUE + 'percent = "19.0"\n' + REVENUE + "percent = 19\n",
            [("revenue[2]", "has the scheme, percentage, country, charge and kind of revenue[1]")],
        ),
    ],
)
def test_a_map_that_is_none_is_refused(text: str, expected: list[tuple[str, str]]) -> None:
    assert problems(text) == expected


def test_only_kinds_of_payments_that_correct_the_vat_have_an_account_of_vat() -> None:
    text = f'currency = "EUR"\n{REVENUE}[[payment]]\nkind = "bank_charges"\naccount = "4970"\nvat_account = "1776"\n'
    assert problems(text) == [("payment[1].vat_account", "is given, though bank_charges corrects no VAT")]
    (found,) = accounts(text.replace("bank_charges", "bad_debt")).payment
    assert found.accounts.vat_account == "1776"


def test_the_accounts_are_those_that_the_system_has() -> None:
    text = f'currency = "EUR"\n[accounts]\npayments = "Bank"\n{REVENUE}'
    assert accounts(text).accounts["payments"] == "Bank"
    assert problems(text, "datev") == [("accounts.payments", "is 'Bank'")]
    assert accounts(text.replace("Bank", "1200"), "datev").accounts["payments"] == "1200"


@pytest.mark.parametrize(
    ("percent", "country", "account"), [("19", "DE", "1"), ("19", "FR", "2"), ("7", "DE", "3"), ("7", None, "4")]
)
def test_the_closest_entry_applies(percent: str, country: str | None, account: str) -> None:
    closest = ('account = "4"', 'account = "3"\ncountry = "DE"', 'account = "2"\npercent = 19')
    entries = (*closest, 'account = "1"\npercent = 19.00\ncountry = "DE"')
    text = 'currency = "EUR"\n' + "".join(f'[[revenue]]\nscheme = "standard"\n{one}\n' for one in entries)
    found = accounts(text).revenue_of(ROW._replace(percent=Decimal(percent)), country, "commission")
    assert found
    assert found.account == account
    assert accounts(text).revenue_of(ROW._replace(scheme="exempt"), country, "commission") is None


@cases("first", "=+-@\uff1d\uff0b\uff0d\uff20\t\n ")
def test_no_account_of_a_csv_file_is_a_formula(first: str) -> None:
    form = accounts().form
    assert (form.read(f"{first}1+1"), form.read(f"1{first}1") is None) == (None, first == "\n")


def test_a_pattern_names_the_agency() -> None:
    text = f'currency = "EUR"\n[payable]\naccount = "7{{agency}}"\n{REVENUE}'
    found = accounts(text)
    assert found.payable.of("42") == "742"
    assert found.receivable.of("42") is None
    assert read_account_map(text, found.form) == found


def test_a_charge_may_have_an_account_of_its_own() -> None:
    """Of 100.00 and 19.01 of tax, the payment fees of 33.33 have a third of the tax, and the rest has what is left."""
    named = '[[revenue]]\nscheme = "standard"\naccount = "9"\ncharge = "payment fee"\n'
    text = f'currency = "EUR"\n[[revenue]]\nscheme = "standard"\naccount = "8"\npercent = 19\n{named}'
    charges = ("commission", Decimal("60.00")), ("listing fee", Decimal("6.67")), ("payment fee", Decimal("33.33"))
    issuer = IssuerFigures("EUR", Decimal("120.00"), Decimal("22.81"))
    row = ROW._replace(tax=Decimal("19.01"), charges=charges, issuer=issuer)
    found = accounts(text).revenues_of(row, "DE")
    assert [(one and one.account, str(part.base), str(part.tax)) for one, part in found] == [
        ("8", "66.67", "12.68"),
        ("9", "33.33", "6.33"),
    ]
    assert [part.issuer and (str(part.issuer.base), str(part.issuer.tax)) for _, part in found] == [
        ("80.01", "15.21"),
        ("39.99", "7.60"),
    ]
    ((_, whole),) = accounts(text.replace(named, "")).revenues_of(row, "DE")
    assert whole == row


def test_adjustments_of_a_kind_may_have_an_account_of_their_own() -> None:
    """Of a fee of 15.00 and a gift of 15.00 the tax is 0, and both are booked all the same."""
    named = '[[revenue]]\nscheme = "standard"\naccount = "9"\nkind = "late_interest"\n'
    text = f'currency = "EUR"\n[[revenue]]\nscheme = "standard"\naccount = "8"\npercent = 19\n{named}'
    kinds = KindPart("commission", "late_interest", Decimal(15)), KindPart("commission", "gift", Decimal("-3.005"))
    row = ROW._replace(charges=(("commission", Decimal("100.00")),), kinds=kinds)
    assert [
        (one and one.account, str(part.base), str(part.tax)) for one, part in accounts(text).revenues_of(row, "DE")
    ] == [
        ("9", "15.00", "2"),
        ("8", "85.00", "17"),
    ]
    nothing = row._replace(base=Decimal("0.00"), tax=Decimal("0.00"), charges=(("commission", Decimal("0.00")),))
    assert [str(part.base) for _, part in accounts(text).revenues_of(nothing, "DE")] == ["15.00", "-15.00"]
