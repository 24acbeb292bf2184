"""An agency, the pure part: the schema of its document."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Final, NamedTuple

from quarterhour.agencies.vat_ids import VAT_ID, is_vat_id
from quarterhour.documents.keys import AGENCY, AGENCY_NAME, is_agency
from quarterhour.documents.plan import DocumentKind, Valid
from quarterhour.model import fields, money
from quarterhour.model.countries import COUNTRIES
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import Fields
from quarterhour.model.instants import ALWAYS

STANDARD: Final = "standard"
REVERSE_CHARGE: Final = "reverse_charge"
EXEMPT: Final = "exempt"
OUTSIDE_SCOPE: Final = "outside_scope"
SCHEMES: Final = (STANDARD, REVERSE_CHARGE, EXEMPT, OUTSIDE_SCOPE)
"""The tax schemes: tax at a percentage, tax that the agency owes itself, no tax, no service that the law taxes."""
ACTIVE: Final = "active"
CLOSED: Final = "closed"
STATUSES: Final = (ACTIVE, CLOSED)
"""Sales of a closed agency are held."""
MAX_ADDRESS: Final = 500
LANGUAGES: Final = ("en", "de", "fr", "es", "nl")
"""The languages in which statements are written, by their codes of ISO 639-1."""
DEFAULT_LANGUAGE: Final = "en"
FIELDS: Final = (
    *("legal_name", "address", "country", "tax", "currency", "group", "contact", "status", "language"),
    "valid_from",
)
TAX_FIELDS: Final = ("scheme", "percent", "vat_id")

ADDRESS: Final = f"1 to {MAX_ADDRESS} printable characters and line breaks, not all blank"
COUNTRY: Final = "an ISO 3166-1 code of two letters such as GB"
_TAX: Final = f"an object with {', '.join(TAX_FIELDS)}"


class Registration(Enum):
    """Whether an agency is registered, from whichever instant on, and closed now."""

    NONE = "none"
    ACTIVE = "active"
    CLOSED = "closed"


class TaxProfile(NamedTuple):
    """How commissions are taxed. ``percent`` is 0 unless the scheme is ``STANDARD``."""

    scheme: str
    percent: Decimal = money.ZERO
    vat_id: str | None = None


class Agency(NamedTuple):
    """A registered agency's data from an instant on; what was not registered is ``None``."""

    valid_from: datetime
    legal_name: str | None = None
    address: str | None = None
    country: str | None = None
    tax: TaxProfile | None = None
    currency: str | None = None
    group: str | None = None
    contact: str | None = None
    status: str = ACTIVE
    language: str = DEFAULT_LANGUAGE


def read_agency(content: object, prefix: str = "content.") -> Agency | tuple[FieldProblem, ...]:
    """Return the agency in a document's content, or every problem in it. ``prefix`` precedes the fields' names.

    Without ``valid_from``, the content is valid from the beginning of time.
    """
    if not isinstance(content, Mapping):
        return (FieldProblem(prefix.rstrip("."), "is not an object", f"an object with {', '.join(FIELDS)}"),)
    outer = Fields(content, prefix)
    outer.report_unknown(frozenset(FIELDS))
    legal_name = outer.value("legal_name", fields.TEXT, fields.text, optional=True)
    address_ = outer.value("address", ADDRESS, address, optional=True)
    country = outer.value("country", COUNTRY, country_of, optional=True)
    tax = outer.value("tax", _TAX, lambda value: value if isinstance(value, Mapping) else None, optional=True)
    profile = None if tax is None else _read_tax(Fields(tax, f"{prefix}tax.", outer.problems), country)
    currency = outer.value("currency", fields.CURRENCY, fields.currency, optional=True)
    group = outer.value("group", fields.NAME, fields.name, optional=True)
    contact = outer.value("contact", fields.TEXT, fields.text, optional=True)
    status = outer.value("status", f"one of {', '.join(STATUSES)}", _status, optional=True)
    language = outer.value("language", f"one of {', '.join(LANGUAGES)}", _language, optional=True)
    valid_from = outer.value("valid_from", fields.INSTANT, fields.instant, optional=True)
    if outer.problems:
        return fields.bounded(outer.problems, "an agency as described")
    since = valid_from or ALWAYS[0]
    names = legal_name, address_, country, profile, currency, group, contact
    return Agency(since, *names, status or ACTIVE, language or DEFAULT_LANGUAGE)


def _valid(content: object) -> Valid | tuple[FieldProblem, ...]:
    agency = read_agency(content)
    return Valid(agency.valid_from, agency.group or "") if isinstance(agency, Agency) else agency


AGENCIES: Final = DocumentKind(AGENCY, is_agency, f"{AGENCY}<agency>, the agency with {AGENCY_NAME}", _valid)
"""Agencies as a kind of document. The label of a version is the agency's group."""


def _read_tax(inner: Fields, country: str | None) -> TaxProfile | None:
    inner.report_unknown(frozenset(TAX_FIELDS))
    scheme = inner.value("scheme", f"one of {', '.join(SCHEMES)}", _scheme)
    percent = inner.value("percent", fields.PERCENT, fields.percent, optional=scheme != STANDARD)
    vat_id = inner.value("vat_id", VAT_ID, fields.text, optional=True)
    if scheme is not None and scheme != STANDARD and percent:
        inner.problem("percent", f"is {money.plain(percent)}", f"none with the scheme {scheme}, or 0")
    if vat_id is not None and not is_vat_id(vat_id, country):
        inner.problem("vat_id", f"is {fields.shown(vat_id)}", f"{VAT_ID}{_of(country)}")
    return None if scheme is None else TaxProfile(scheme, percent or money.ZERO, vat_id)


def _of(country: str | None) -> str:
    return "" if country is None else f"; of {country}, or with the two letters of its own country before it"


def address(value: object) -> str | None:
    """Return an address; ``None`` if the value is none."""
    fits = isinstance(value, str) and value.strip() and len(value) <= MAX_ADDRESS
    return str(value) if fits and all(one.isprintable() or one == "\n" for one in str(value)) else None


def country_of(value: object) -> str | None:
    """Return the code of a country; ``None`` if the value is none."""
    return value if isinstance(value, str) and value in COUNTRIES else None


def _scheme(value: object) -> str | None:
    return value if isinstance(value, str) and value in SCHEMES else None


def _status(value: object) -> str | None:
    return value if isinstance(value, str) and value in STATUSES else None


def _language(value: object) -> str | None:
    return value if isinstance(value, str) and value in LANGUAGES else None
