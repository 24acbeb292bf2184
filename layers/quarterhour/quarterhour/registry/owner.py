"""The owner of the marketplace, who issues the statements: the schema of the document ``owner``."""

import base64
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

from quarterhour.model import fields
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import Fields
from quarterhour.model.instants import ALWAYS
from quarterhour.registry.agencies.agency import ADDRESS, COUNTRY, address, country_of, iban_of, vat_id_of
from quarterhour.registry.agencies.e_invoices import REACH_FIELDS, read_reach
from quarterhour.registry.agencies.ibans import IBAN
from quarterhour.registry.agencies.vat_ids import VAT_ID
from quarterhour.registry.documents.plan import DocumentKind, Valid

OWNER: Final = "owner"
"""The name of the document."""
MAX_LOGO: Final = 50_000
"""Characters of a logo; every statement holds it."""
MAX_PAYMENT_DAYS: Final = 365
PAYMENT_DAYS: Final = 30
"""The payment days of an owner who gives none; Directive 2011/7/EU has the same between businesses."""
_SHOWN: Final = ("legal_name", "address", "country", "vat_id", "contact", "logo", "iban", *REACH_FIELDS)
"""The fields that a statement shows."""
_IN_ONE_FORM: Final = ("legal_name", "address", "vat_id", "contact", "iban", *REACH_FIELDS)
FIELDS: Final = (*_SHOWN, "payment_days", "titles", "valid_from")
FOR_STATEMENTS: Final = ("legal_name", "address", "country", "vat_id", "iban", "payment_days")
"""The fields that a complete statement needs."""
_PAYMENT_DAYS: Final = f"a whole number of days from 0 to {MAX_PAYMENT_DAYS}"
STATEMENT_TITLE: Final = "statement"
TITLES: Final = (STATEMENT_TITLE, "invoice", "tax_invoice")
"""What statements may be called; each language has its own words for them."""
ELSEWHERE: Final = "other"
"""Stands for all countries that are not named."""
_TITLES: Final = f"a title by country code or {ELSEWHERE!r}, each one of {', '.join(TITLES)}"
_LOGO: Final = re.compile(r"data:image/(?:png|jpeg|webp|svg\+xml);base64,([A-Za-z0-9+/]+={0,2})", re.ASCII)
_EXPECTED_LOGO: Final = f"a data URI of a PNG, JPEG, WebP or SVG image in base64, of at most {MAX_LOGO:,} characters"


class Owner(NamedTuple):
    """The owner's data from an instant on; what was not given is ``None``.

    ``logo`` is a data URI. ``payment_days``: the days from a statement's issue to the day when it must be paid.
    ``titles``: what statements are called, by the agency's country.
    """

    valid_from: datetime = ALWAYS[0]
    legal_name: str | None = None
    address: str | None = None
    country: str | None = None
    vat_id: str | None = None
    contact: str | None = None
    logo: str | None = None
    iban: str | None = None
    payment_days: int | None = None
    titles: Mapping[str, str] | None = None
    post_code: str | None = None
    town: str | None = None
    email: str | None = None
    phone: str | None = None
    electronic_address: str | None = None
    registration_number: str | None = None

    @property
    def missing(self) -> list[str]:
        """The fields that a complete statement needs and that were not given."""
        return [name for name in FOR_STATEMENTS if getattr(self, name) is None]

    def title_for(self, country: str | None) -> str:
        """Return what a statement to an agency of a country is called, one of ``TITLES``."""
        titles = self.titles or {}
        return titles.get(country or ELSEWHERE) or titles.get(ELSEWHERE, STATEMENT_TITLE)

    def as_dict(self) -> dict[str, Any]:
        """Return the data as a statement shows them."""
        return {name: getattr(self, name) for name in _SHOWN}


def read_owner(content: object, prefix: str = "content.") -> Owner | tuple[FieldProblem, ...]:
    """Return the owner in a document's content, or every problem in it. ``prefix`` precedes the fields' names."""
    if not isinstance(content, Mapping):
        return (FieldProblem(prefix.rstrip("."), "is not an object", f"an object with {', '.join(FIELDS)}"),)
    read = Fields(content, prefix)
    read.report_unknown(frozenset(FIELDS))
    legal_name = read.value("legal_name", fields.TEXT, fields.text)
    address_ = read.value("address", ADDRESS, address, optional=True)
    country = read.value("country", COUNTRY, country_of, optional=True)
    vat_id = read.value("vat_id", VAT_ID, lambda text: vat_id_of(text, country), optional=True)
    contact = read.value("contact", fields.TEXT, fields.text, optional=True)
    logo = read.value("logo", _EXPECTED_LOGO, _logo, optional=True)
    iban = read.value("iban", IBAN, iban_of, optional=True)
    payment_days = read.value("payment_days", _PAYMENT_DAYS, _payment_days, optional=True)
    titles = read.value("titles", _TITLES, _titles, optional=True)
    reach = read_reach(read, country)
    valid_from = read.value("valid_from", fields.INSTANT, fields.instant, optional=True)
    if read.problems:
        return fields.bounded(read.problems, "an owner as described")
    given = legal_name, address_, country, vat_id, contact, logo, iban, payment_days, titles
    return Owner(valid_from or ALWAYS[0], *given, **reach)


def _valid(content: object) -> Valid | tuple[FieldProblem, ...]:
    owner = read_owner(content)
    if not isinstance(owner, Owner):
        return owner
    forms = {name: form for name in _IN_ONE_FORM if (form := getattr(owner, name)) is not None}
    return Valid(owner.valid_from, content={**cast("Mapping[str, Any]", content), **forms})


OWNERS: Final = DocumentKind(OWNER, lambda rest: not rest, OWNER, _valid, by_people=True)
"""The owner as a kind of document, of which there is one."""


def _payment_days(value: object) -> int | None:
    days = fields.whole(value)
    return days if days is not None and days <= MAX_PAYMENT_DAYS else None


def _titles(value: object) -> Mapping[str, str] | None:
    if not isinstance(value, Mapping):
        return None
    is_right = all((one == ELSEWHERE or country_of(one)) and value[one] in TITLES for one in value)
    return {str(one): str(title) for one, title in value.items()} if is_right else None


def _logo(value: object) -> str | None:
    match = _LOGO.fullmatch(value) if isinstance(value, str) and len(value) <= MAX_LOGO else None
    if match is None:
        return None
    try:
        base64.b64decode(match[1], validate=True)
    except ValueError:
        return None
    return match.string
