"""Agencies: the schema of their documents."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from quarterhour.model import exact_json
from quarterhour.model.errors import InvalidError
from quarterhour.registry.agencies.agency import AGENCIES, FIELDS, TAX_FIELDS, Agency, TaxProfile, TaxRate, read_agency
from quarterhour.registry.documents.plan import Valid, read_draft
from tests.support.agencies import FULL, tax
from tests.support.cases import cases


def test_an_agency_is_read_with_every_field() -> None:
    assert read_agency(FULL) == Agency(
        valid_from=datetime(2026, 10, 1, tzinfo=UTC),
        legal_name="Harbour Books Ltd",
        address="1 Quay Street\nBristol BS1 4ER",
        country="GB",
        tax=TaxProfile("standard", Decimal(20), "GB980780684", country="GB"),
        currency="GBP",
        group="bookshops",
        contact="accounts@harbour.example",
        status="active",
        language="de",
        collects="marketplace",
        iban="GB82WEST12345698765432",
    )


def test_an_agency_without_any_field_is_active_from_the_beginning() -> None:
    assert read_agency({}) == Agency(datetime(1970, 1, 1, tzinfo=UTC), collects="agency")


@pytest.mark.parametrize(
    ("sent", "profile"),
    [
        (tax(scheme="exempt", percent=None, vat_id=None), TaxProfile("exempt", country="GB")),
        (
            tax(scheme="reverse_charge", percent="0"),
            TaxProfile("reverse_charge", Decimal(0), "GB980780684", country="GB"),
        ),
        (tax(scheme="outside_scope", percent=None, vat_id=None), TaxProfile("outside_scope", country="GB")),
        (tax(percent=Decimal("7.7"), vat_id=None), TaxProfile("standard", Decimal("7.7"), country="GB")),
    ],
)
def test_only_the_standard_scheme_has_a_percentage(sent: Any, profile: TaxProfile) -> None:
    agency = read_agency(sent)
    assert isinstance(agency, Agency)
    assert agency.tax == profile


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "nl"])
def test_an_agency_has_one_of_five_languages_and_english_without_one(language: str) -> None:
    agency, plain = read_agency({"language": language}), read_agency({})
    assert isinstance(agency, Agency)
    assert isinstance(plain, Agency)
    assert (agency.language, plain.language) == (language, "en")


def test_a_tax_profile_has_rates_by_kind_of_adjustment_by_category_and_by_charge() -> None:
    rates = {
        "by_kind": {"chargeback_fee": {"scheme": "outside_scope"}},
        "by_category": {"e-books": STANDARD_9},
        "by_charge": {"payment fee": {"scheme": "exempt"}},
    }
    agency = read_agency(tax(**rates))
    assert isinstance(agency, Agency)
    assert agency.tax == TaxProfile(
        "standard",
        Decimal(20),
        "GB980780684",
        {"chargeback_fee": TaxRate("outside_scope")},
        {"e-books": TaxRate("standard", Decimal(9))},
        {"payment fee": TaxRate("exempt")},
        country="GB",
    )
    most = {f"fee_{number}": STANDARD_9 for number in range(50)}
    assert isinstance(read_agency(tax(by_kind=most, by_category=most)), Agency)


def test_a_profile_without_tax_has_its_legal_ground_and_so_has_a_rate_of_it() -> None:
    ground = {"reason": " § 4  Nr. 8 UStG ", "reason_code": "VATEX-EU-135-1"}
    fee = {"fee": {"scheme": "outside_scope", "reason": "Vertragsstrafe"}}
    agency = read_agency(tax(scheme="exempt", percent=None, by_kind=fee, **ground))
    assert isinstance(agency, Agency)
    assert agency.tax is not None
    assert agency.tax.rate_of("", "") == TaxRate("exempt", Decimal(0), "§ 4 Nr. 8 UStG", "VATEX-EU-135-1")
    assert agency.tax.rate_of("fee", "").reason == "Vertragsstrafe"


STANDARD_9 = {"scheme": "standard", "percent": "9"}
BAD: dict[str, tuple[Any, str]] = {
    "a list of rates by kind": (tax(by_kind=["fee"]), "content.tax.by_kind"),
    "a list of rates by category": (tax(by_category=["books"]), "content.tax.by_category"),
    "a rate that is no object": (tax(by_kind={"fee": "9"}), "content.tax.by_kind.fee"),
    "a kind in capitals": (tax(by_kind={"Fee": STANDARD_9}), "content.tax.by_kind.Fee"),
    "a kind that is not taxed": (tax(by_kind={"opening": STANDARD_9}), "content.tax.by_kind.opening"),
    "a list of rates by charge": (tax(by_charge=["payment fee"]), "content.tax.by_charge"),
    "no name of a charge": (tax(by_charge={"a;b": STANDARD_9}), "content.tax.by_charge.a;b"),
    "an empty category": (tax(by_category={"": STANDARD_9}), "content.tax.by_category."),
    "a rate with a VAT id": (
        tax(by_category={"books": STANDARD_9 | {"vat_id": "GB980780684"}}),
        "content.tax.by_category.books.vat_id",
    ),
    "a rate without a scheme": (tax(by_category={"books": {}}), "content.tax.by_category.books.scheme"),
    "a rate without a percentage": (
        tax(by_category={"books": {"scheme": "standard"}}),
        "content.tax.by_category.books.percent",
    ),
    "a rate with a percentage and no tax": (
        tax(by_kind={"fee": {"scheme": "exempt", "percent": "9"}}),
        "content.tax.by_kind.fee.percent",
    ),
    "too many rates": (tax(by_kind={f"fee_{one}": STANDARD_9 for one in range(51)}), "content.tax.by_kind"),
    "a reason for a tax": (tax(reason="§ 4 Nr. 8 UStG"), "content.tax.reason"),
    "a reason that is a number": (tax(scheme="exempt", percent=None, reason=4), "content.tax.reason"),
    "a code of a reason that is none": (
        tax(scheme="exempt", percent=None, reason_code="EU-132"),
        "content.tax.reason_code",
    ),
    "a reason for the tax of a kind": (
        tax(by_kind={"fee": STANDARD_9 | {"reason": "fee"}}),
        "content.tax.by_kind.fee.reason",
    ),
    "no object": ([], "content"),
    "a number": (Decimal(1), "content"),
    "an unknown field": ({"vat": "GB980780684"}, "content.vat"),
    "an unknown field of the tax profile": (tax(rate="20"), "content.tax.rate"),
    "an unknown country": ({"country": "UK"}, "content.country"),
    "a country in lower case": ({"country": "gb"}, "content.country"),
    "an unknown currency": ({"currency": "GPB"}, "content.currency"),
    "a tax profile that is not an object": ({"tax": "20"}, "content.tax"),
    "no scheme": (tax(scheme=None), "content.tax.scheme"),
    "an unknown scheme": (tax(scheme="reduced"), "content.tax.scheme"),
    "no percentage": (tax(percent=None), "content.tax.percent"),
    "a percentage over 100": (tax(percent="100.01"), "content.tax.percent"),
    "a percentage below 0": (tax(percent="-1"), "content.tax.percent"),
    "a percentage with many places": (tax(percent="1.12345678901"), "content.tax.percent"),
    "a percentage without tax": (tax(scheme="exempt"), "content.tax.percent"),
    "a percentage that the agency owes itself": (tax(scheme="reverse_charge"), "content.tax.percent"),
    "a VAT id with a wrong check digit": (tax(vat_id="GB980780685"), "content.tax.vat_id"),
    "a VAT id that is a word": (tax(vat_id="none"), "content.tax.vat_id"),
    "a VAT id without a country": ({"tax": {"scheme": "exempt", "vat_id": "980780684"}}, "content.tax.vat_id"),
    "a VAT id that is a number": (tax(vat_id=Decimal(980780684)), "content.tax.vat_id"),
    "a group with a blank before it": ({"group": " eu"}, "content.group"),
    "a group with a blank after it": ({"group": "eu "}, "content.group"),
    "a group with a separator": ({"group": "e#u"}, "content.group"),
    "a legal name of which nothing is seen": ({"legal_name": "\u200b\u00a0"}, "content.legal_name"),
    "an empty legal name": ({"legal_name": ""}, "content.legal_name"),
    "a contact of which nothing is seen": ({"contact": "\n\u2066"}, "content.contact"),
    "an address of which nothing is seen": ({"address": "\t\n\u200b"}, "content.address"),
    "a blank address": ({"address": " \n"}, "content.address"),
    "an unknown collector": ({"collects": "bank"}, "content.collects"),
    "an IBAN with wrong check digits": ({"iban": "GB83WEST12345698765432"}, "content.iban"),
    "an IBAN that is a number": ({"iban": Decimal(82)}, "content.iban"),
    "an empty IBAN": ({"iban": ""}, "content.iban"),
    "one name of a payer": ({"payer_names": "Ann"}, "content.payer_names"),
    "too many payers": ({"payer_names": [f"n{n}" for n in range(21)]}, "content.payer_names"),
    "a payer without a name": ({"payer_names": ["Ann", " "]}, "content.payer_names.1"),
    "a payer's IBAN with wrong check digits": ({"payer_ibans": ["GB83WEST12345698765432"]}, "content.payer_ibans.0"),
    "one IBAN of a payer": ({"payer_ibans": "GB82WEST12345698765432"}, "content.payer_ibans"),
    "a hold without a reason": ({"payout_hold": " "}, "content.payout_hold"),
    "an email address without a domain": ({"email": "ap@acme"}, "content.email"),
    "a post code of another country": ({"country": "GB", "post_code": "20457"}, "content.post_code"),
    "a town of which nothing is seen": ({"town": "\u200b"}, "content.town"),
    "a telephone number in words": ({"phone": "call Ann"}, "content.phone"),
    "an electronic address without a scheme": ({"electronic_address": "ap@acme.example"}, "content.electronic_address"),
    "an electronic address of no scheme": ({"electronic_address": "9999:1"}, "content.electronic_address"),
    "an empty number of registration": ({"registration_number": ""}, "content.registration_number"),
    "an unknown profile": ({"invoice_profile": "XRechnung"}, "content.invoice_profile"),
    "a buyer reference of blanks": ({"buyer_reference": " "}, "content.buyer_reference"),
    "an order that is a number": ({"purchase_order": Decimal(7)}, "content.purchase_order"),
    "a code of no list": (tax(scheme="exempt", percent=None, reason_code="VATEX-EU-999"), "content.tax.reason_code"),
    "an unknown status": ({"status": "open"}, "content.status"),
    "an unknown language": ({"language": "it"}, "content.language"),
    "a language in capitals": ({"language": "DE"}, "content.language"),
    "ids at an unknown provider": ({"external_ids": {"ebay": ["x"]}}, "content.external_ids.ebay"),
    "ids that are no object": ({"external_ids": ["x"]}, "content.external_ids"),
    "an id that is no list": ({"external_ids": {"shopify": "Acme"}}, "content.external_ids.shopify"),
    "an id of blanks": ({"external_ids": {"stripe": [" "]}}, "content.external_ids.stripe.0"),
    "too many ids": (
        {"external_ids": {"woocommerce": [str(n) for n in range(16)]}},
        "content.external_ids.woocommerce",
    ),
    "a start without a time zone": ({"valid_from": "2026-10-01T00:00:00"}, "content.valid_from"),
}


@cases(("sent", "field"), BAD.values(), ids=BAD)
def test_an_invalid_agency_is_refused_with_the_field(sent: Any, field: str) -> None:
    problems = read_agency(sent)
    assert not isinstance(problems, Agency)
    assert [one.field for one in problems] == [field]
    assert all(one.problem and one.expected for one in problems)


def test_every_field_of_an_agency_has_a_bad_value() -> None:
    named = {field.removeprefix("content.") for _, field in BAD.values()}
    assert named >= {*FIELDS, *(f"tax.{name}" for name in TAX_FIELDS)}


def test_an_iban_with_wrong_check_digits_is_refused_with_the_field_the_problem_and_what_is_expected() -> None:
    problems = read_agency({"iban": "GB83 WEST 1234 5698 7654 32"})
    assert not isinstance(problems, Agency)
    expected = "an IBAN with correct check digits, such as DE89 3704 0044 0532 0130 00"
    assert [(one.field, one.problem, one.expected) for one in problems] == [
        ("content.iban", "is 'GB83 WEST 1234 5698 7654 32', which has wrong check digits", expected)
    ]


def test_every_problem_of_an_agency_is_returned() -> None:
    problems = read_agency({**tax(percent="101", vat_id="?"), "country": "XX", "currency": "X"})
    assert not isinstance(problems, Agency)
    fields = {one.field for one in problems}
    assert fields == {"content.country", "content.currency", "content.tax.percent", "content.tax.vat_id"}


def test_a_version_of_an_agency_keeps_its_group_in_the_timeline() -> None:
    draft = read_draft("agency:42", {"seen": Decimal(0), "content": FULL}, [AGENCIES])
    stored = {**FULL, "iban": "GB82WEST12345698765432"}
    assert (draft.kind, draft.valid) == ("agency", Valid(datetime(2026, 10, 1, tzinfo=UTC), "bookshops", stored))
    assert exact_json.parse(draft.content) == stored


@pytest.mark.parametrize("name", ["default", "*", "group/eu", "group/", " 42", "42 ", ""])
def test_an_agency_whose_name_is_that_of_rate_cards_of_others_is_refused(name: str) -> None:
    with pytest.raises(InvalidError) as raised:
        read_draft(f"agency:{name}", {"seen": Decimal(0), "content": {}}, [AGENCIES])
    assert [one.field for one in raised.value.problems] == ["document"]
