"""Profiles of electronic invoices: what each needs of the parties, and what the XML says in it."""

from typing import Any, Final

from quarterhour.registry.agencies.e_invoices import EN16931, PEPPOL, XRECHNUNG
from quarterhour.statements.document.invoice_profiles import needs, profile_of
from quarterhour.statements.document.invoice_xml import statement_xml
from tests.support.cases import cases
from tests.support.invoices import AUTHORITY, BUYER, REACHED, SELLER, invoice_document

PEPPOL_BUYER: Final = {**BUYER, "electronic_address": "0106:12345678", "purchase_order": "4500001"}
DUTCH: Final = {**REACHED, "country": "NL", "registration_number": "0106:12345678"}

NEEDS: Final[dict[str, tuple[str, dict[str, Any], dict[str, Any], list[str]]]] = {
    "the norm needs nothing more": (EN16931, SELLER, BUYER, []),
    "XRechnung has all": (XRECHNUNG, REACHED, AUTHORITY, []),
    "a Leitweg-ID with wrong check digits": (
        XRECHNUNG, REACHED, {**AUTHORITY, "buyer_reference": "991-03730-20"},
        ["agency.buyer_reference with the check digits of a Leitweg-ID"],
    ),
    "any other reference": (XRECHNUNG, REACHED, {**AUTHORITY, "buyer_reference": "Team 7"}, []),
    "XRechnung of parties that registered nothing": (
        XRECHNUNG, SELLER, BUYER,
        [
            *("owner.electronic_address", "agency.electronic_address", "owner.phone", "owner.email"),
            *("agency.buyer_reference", "owner.post_code", "owner.town", "agency.post_code", "agency.town"),
        ],
    ),
    "Peppol has all": (PEPPOL, REACHED, PEPPOL_BUYER, []),
    "Peppol without a reference": (
        PEPPOL, REACHED, {**PEPPOL_BUYER, "purchase_order": None},
        ["agency.buyer_reference or agency.purchase_order"],
    ),
    "Peppol at home in Germany has the rules of XRechnung": (
        PEPPOL, REACHED, {**AUTHORITY, "buyer_reference": None}, ["agency.buyer_reference"],
    ),
    "Peppol at home in the Netherlands": (
        PEPPOL, {**DUTCH, "registration_number": "12345678"}, {**PEPPOL_BUYER, "registration_number": "0002:1"},
        [
            *("agency.post_code", "agency.town", "owner.registration_number with the scheme 0106 or 0190"),
            "agency.registration_number with the scheme 0106 or 0190",
        ],
    ),
    "Peppol from Denmark": (
        PEPPOL, {**REACHED, "country": "DK"}, PEPPOL_BUYER, ["owner.registration_number with the scheme 0184"],
    ),
    "no account": (PEPPOL, {**REACHED, "iban": None}, PEPPOL_BUYER, ["owner.iban"]),
}  # fmt: skip


@cases(("name", "seller", "buyer", "lacking"), NEEDS.values(), ids=NEEDS)
def test_a_profile_names_what_parties_lack(
    name: str, seller: dict[str, Any], buyer: dict[str, Any], lacking: list[str]
) -> None:
    assert list(needs(name, seller, buyer)) == lacking
    assert (profile_of(name, seller, buyer).process is None) == (name == EN16931 or bool(lacking))


def xml_of(owner: dict[str, Any], customer: dict[str, Any]) -> str:
    return (statement_xml(invoice_document(owner=owner, customer=customer)) or b"").decode()


def test_an_invoice_names_its_profile_only_if_it_follows_it() -> None:
    assert "#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0</" in xml_of(REACHED, AUTHORITY)
    plain = xml_of(REACHED, {**AUTHORITY, "town": None})
    assert "<cbc:CustomizationID>urn:cen.eu:en16931:2017</cbc:CustomizationID>" in plain
    assert "ProfileID" not in plain


def test_an_invoice_says_how_its_parties_are_reached_and_the_references_of_its_buyer() -> None:
    xml = xml_of(REACHED, AUTHORITY).replace("\n", "")
    for expected in (
        "<cbc:BuyerReference>991-03730-19</cbc:BuyerReference>",
        "<cac:OrderReference><cbc:ID>B-7</cbc:ID></cac:OrderReference>",
        '<cbc:EndpointID schemeID="9930">DE136695976</cbc:EndpointID>',
        '<cbc:EndpointID schemeID="0204">991-03730-19</cbc:EndpointID>',
        "<cbc:StreetName>Hafenstraße 7</cbc:StreetName><cbc:CityName>Hamburg</cbc:CityName>",
        "</cbc:CityName><cbc:PostalZone>20457</cbc:PostalZone><cac:Country>",
        "<cbc:CompanyID>HRB 12345</cbc:CompanyID></cac:PartyLegalEntity>",
        f"<cac:Contact><cbc:Name>{SELLER['legal_name']}</cbc:Name>",
        "<cbc:Telephone>+49 40 123456</cbc:Telephone><cbc:ElectronicMail>rechnung@markt.example</cbc:ElectronicMail>",
    ):
        assert expected in xml, expected
