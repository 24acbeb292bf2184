"""An agency, the pure part: the schema of its document."""

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from quarterhour.model import charges, fields, money, texts
from quarterhour.model.countries import COUNTRIES
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import Fields
from quarterhour.model.instants import ALWAYS
from quarterhour.registry.agencies.e_invoices import (
    EN16931,
    REACH_FIELDS,
    RECIPIENT_FIELDS,
    VATEX,
    read_reach,
    read_recipient,
)
from quarterhour.registry.agencies.ibans import IBAN, read_iban
from quarterhour.registry.agencies.registration import ACTIVE, STATUSES, external_id
from quarterhour.registry.agencies.vat_ids import VAT_ID, read_vat_id
from quarterhour.registry.documents.keys import AGENCY, AGENCY_NAME, Alias, is_agency
from quarterhour.registry.documents.plan import DocumentKind, Valid

STANDARD: Final = "standard"
REVERSE_CHARGE: Final = "reverse_charge"
EXEMPT: Final = "exempt"
OUTSIDE_SCOPE: Final = "outside_scope"
SCHEMES: Final = (STANDARD, REVERSE_CHARGE, EXEMPT, OUTSIDE_SCOPE)
"""The tax schemes: tax at a percentage, tax that the agency owes itself, no tax, no service that the law taxes."""
BY_AGENCY: Final = "agency"
BY_MARKETPLACE: Final = "marketplace"
COLLECTORS: Final = (BY_AGENCY, BY_MARKETPLACE)
"""Who collects the customers' money: the agency owes commission, or the marketplace the net sales less commission."""
MAX_ADDRESS: Final = 500
LANGUAGES: Final = ("en", "de", "fr", "es", "nl")
"""The languages in which statements are written, by their codes of ISO 639-1."""
DEFAULT_LANGUAGE: Final = "en"
FIELDS: Final = (
    *("legal_name", "address", "country", "tax", "currency", "group", "contact", "status", "language"),
    *("collects", "iban", "payout_hold", "payer_names", "payer_ibans"),
    *(*REACH_FIELDS, *RECIPIENT_FIELDS, "external_ids", "valid_from"),
)
_IN_ONE_FORM: Final = (
    *("legal_name", "address", "group", "contact", "iban", "payout_hold"),
    *(*REACH_FIELDS, "buyer_reference", "purchase_order"),
)
LISTS: Final = ("payer_names", "payer_ibans")
"""The fields that are lists of texts."""
MAX_PAYERS: Final = 20
"""The most names, and the most IBANs, of payers of an agency."""
PROVIDERS: Final = ("shopify", "stripe", "woocommerce")
"""The providers whose ids an agency can have."""
MAX_IDS: Final = 15
"""The most ids of an agency at a provider: a transaction writes or deletes all that change."""
_ID_LIST: Final = f"a list of at most {MAX_IDS} texts"
_IDS: Final = f"an object with {', '.join(PROVIDERS)}, each {_ID_LIST}"
ExternalIds = Mapping[str, tuple[str, ...]]
"""The texts by which shops and payment providers name an agency, such as a vendor of Shopify, by provider."""
RATE_FIELDS: Final = ("scheme", "percent", "reason", "reason_code")
TAX_FIELDS: Final = (*RATE_FIELDS, "vat_id", "by_kind", "by_category", "by_charge")
MAX_RATES: Final = 50
"""The most kinds, categories and charges that a tax profile names."""

REASON_CODE: Final = "a code of the list VATEX such as VATEX-EU-132-1A"
ADDRESS: Final = f"1 to {MAX_ADDRESS} printable characters and line breaks, not all blank"
COUNTRY: Final = "an ISO 3166-1 code of two letters such as GB"
_TAX: Final = f"an object with {', '.join(TAX_FIELDS)}"
_RATES: Final = f"an object of at most {MAX_RATES} tax rates"
_RATE: Final = f"an object with {', '.join(RATE_FIELDS)}"


class TaxRate(NamedTuple):
    """How a commission is taxed. ``percent`` is 0 unless the scheme is ``STANDARD``.

    ``reason`` and ``reason_code``: the legal ground of any other scheme, in words and as a code of the list VATEX.
    """

    scheme: str
    percent: Decimal = money.ZERO
    reason: str | None = None
    reason_code: str | None = None


_NO_RATES: Final[Mapping[str, TaxRate]] = MappingProxyType({})


class TaxProfile(NamedTuple):
    """How an agency's commissions are taxed: by kind of adjustment, charge, category of product, or else as all others.

    ``percent`` is 0 unless the scheme is ``STANDARD``; ``reason`` and ``reason_code``: as ``TaxRate`` has them.
    ``country``: that of the agency.
    """

    scheme: str
    percent: Decimal = money.ZERO
    vat_id: str | None = None
    by_kind: Mapping[str, TaxRate] = _NO_RATES
    by_category: Mapping[str, TaxRate] = _NO_RATES
    by_charge: Mapping[str, TaxRate] = _NO_RATES
    reason: str | None = None
    reason_code: str | None = None
    country: str | None = None

    def rate_of(self, kind: str, category: str, charge: str = "") -> TaxRate:
        """Return how a charge of a line is taxed: by its kind, name or category, in this order, or as all others."""
        return (
            self.by_kind.get(kind)
            or self.by_charge.get(charge)
            or self.by_category.get(category)
            or TaxRate(self.scheme, self.percent, self.reason, self.reason_code)
        )

    @property
    def schemes(self) -> frozenset[str]:
        """All schemes by which a line can be taxed."""
        rates = (*self.by_kind.values(), *self.by_category.values(), *self.by_charge.values())
        return frozenset((self.scheme, *(rate.scheme for rate in rates)))


class Agency(NamedTuple):
    """A registered agency's data from an instant on; what was not registered is ``None``.

    ``payout_hold``: why nothing is paid out to it. ``payer_names``, ``payer_ibans``: of others who pay for it.
    ``post_code`` to ``purchase_order``: for electronic invoices.
    ``external_ids``: by which providers name it.
    """

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
    collects: str = BY_AGENCY
    iban: str | None = None
    payout_hold: str | None = None
    payer_names: tuple[str, ...] = ()
    payer_ibans: tuple[str, ...] = ()
    post_code: str | None = None
    town: str | None = None
    email: str | None = None
    phone: str | None = None
    electronic_address: str | None = None
    registration_number: str | None = None
    invoice_profile: str = EN16931
    buyer_reference: str | None = None
    purchase_order: str | None = None
    external_ids: ExternalIds = MappingProxyType({})


def collector_of(agency: Agency | None) -> str:
    """Return who collects the customers' money of an agency's sales: one that is not registered does so itself."""
    return agency.collects if agency else BY_AGENCY


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
    tax = outer.value("tax", _TAX, _object, optional=True)
    profile = None if tax is None else _read_tax(Fields(tax, f"{prefix}tax.", outer.problems), country)
    currency = outer.value("currency", fields.CURRENCY, fields.currency, optional=True)
    group = outer.value("group", fields.NAME, fields.name, optional=True)
    contact = outer.value("contact", fields.TEXT, fields.text, optional=True)
    status = outer.value("status", f"one of {', '.join(STATUSES)}", _status, optional=True)
    language = outer.value("language", f"one of {', '.join(LANGUAGES)}", _language, optional=True)
    collects = outer.value("collects", f"one of {', '.join(COLLECTORS)}", _collects, optional=True)
    iban = outer.value("iban", IBAN, iban_of, optional=True)
    hold = outer.value("payout_hold", f"why nothing is paid out: {fields.TEXT}", fields.text, optional=True)
    payers = (
        _payers(outer, "payer_names", fields.TEXT, fields.text),
        _payers(outer, "payer_ibans", IBAN, iban_of),
    )
    invoices = {**read_reach(outer, country), **read_recipient(outer)}
    external_ids = read_external_ids(outer, "external_ids")
    valid_from = outer.value("valid_from", fields.INSTANT, fields.instant, optional=True)
    if outer.problems:
        return fields.bounded(outer.problems, "an agency as described")
    since = valid_from or ALWAYS[0]
    names = (legal_name, address_, country, profile, currency, group, contact)
    how = (status or ACTIVE, language or DEFAULT_LANGUAGE, collects or BY_AGENCY)
    return Agency(since, *names, *how, iban, hold, *payers, **invoices, external_ids=external_ids)


def _valid(content: object) -> Valid | tuple[FieldProblem, ...]:
    agency = read_agency(content)
    if not isinstance(agency, Agency):
        return agency
    stored = in_one_form(cast("Mapping[str, Any]", content), agency)
    return Valid(agency.valid_from, agency.group or "", stored, aliases_of(agency.external_ids))


def in_one_form(content: Mapping[str, Any], agency: Agency) -> dict[str, Any]:
    """Return the content of an agency's document with its texts and identifiers in their stored forms."""
    forms: dict[str, Any] = {name: getattr(agency, name) for name in _IN_ONE_FORM}
    forms |= {name: list(getattr(agency, name)) for name in LISTS}
    forms["external_ids"] = {provider: list(ids) for provider, ids in agency.external_ids.items()}
    if agency.tax is not None:
        own: dict[str, Any] = {"vat_id": agency.tax.vat_id, "reason": agency.tax.reason}
        for name in ("by_category", "by_charge"):
            if (sent := content["tax"].get(name)) is not None:
                own[name] = dict(zip(getattr(agency.tax, name), sent.values(), strict=True))
        forms["tax"] = {name: own.get(name, value) for name, value in content["tax"].items()}
    return {name: value if value is None else forms.get(name, value) for name, value in content.items()}


AGENCIES: Final = DocumentKind(AGENCY, is_agency, f"{AGENCY}<agency>, the agency with {AGENCY_NAME}", _valid)
"""Agencies as a kind of document. The label of a version is the agency's group."""


def _read_tax(inner: Fields, country: str | None) -> TaxProfile | None:
    inner.report_unknown(frozenset(TAX_FIELDS))
    rate = _read_rate(inner)
    vat_id = inner.value("vat_id", f"{VAT_ID}{_of(country)}", lambda text: vat_id_of(text, country), optional=True)
    by_kind = _read_rates(
        inner, "by_kind", f"a kind of adjustment: {fields.KIND}; not {fields.OPENING}, which is not taxed", _taxed_kind
    )
    by_category = _read_rates(inner, "by_category", f"a category: {fields.TEXT}", fields.label)
    by_charge = _read_rates(inner, "by_charge", f"the name of a charge: {charges.NAME}", charges.charge_name)
    if rate is None:
        return None
    scheme, percent, reason, code = rate
    return TaxProfile(scheme, percent, vat_id, by_kind, by_category, by_charge, reason, code, country)


def _read_rate(read: Fields) -> TaxRate | None:
    scheme = read.value("scheme", f"one of {', '.join(SCHEMES)}", _scheme)
    percent = read.value("percent", fields.PERCENT, fields.percent, optional=scheme != STANDARD)
    if scheme is not None and scheme != STANDARD and percent:
        read.problem("percent", f"is {money.plain(percent)}", f"none with the scheme {scheme}, or 0")
    reason = read.value("reason", fields.TEXT, fields.text, optional=True)
    code = read.value("reason_code", REASON_CODE, _reason_code, optional=True)
    for name, value in (("reason", reason), ("reason_code", code)):
        if scheme == STANDARD and value is not None:
            read.problem(name, f"is {fields.shown(value)}", f"none with the scheme {scheme}")
    return None if scheme is None else TaxRate(scheme, percent or money.ZERO, reason, code)


def _read_rates(
    inner: Fields, field: str, expected: str, name_of: Callable[[object], str | None]
) -> Mapping[str, TaxRate]:
    """Return the tax rates of a field by name: of all names that are valid; the problems of the others are added."""
    sent: Mapping[str, Any] = inner.value(field, _RATES, _object, optional=True) or {}
    if len(sent) > MAX_RATES:
        inner.problem(field, f"has {len(sent)} tax rates", f"at most {MAX_RATES}")
        return _NO_RATES
    rates: dict[str, TaxRate] = {}
    for sent_name, value in sent.items():
        path, name = f"{field}.{fields.named(sent_name)}", name_of(sent_name)
        if name is None:
            inner.problem(path, "is not a name of one", expected)
        elif name in rates:
            inner.problem(path, "is given twice, in two forms", "each once")
        elif not isinstance(value, Mapping):
            inner.problem(path, f"is {fields.shown(value)}", _RATE)
        else:
            read = inner.within(path, value)
            read.report_unknown(frozenset(RATE_FIELDS))
            if (rate := _read_rate(read)) is not None:
                rates[name] = rate
    return rates


def _of(country: str | None) -> str:
    return "" if country is None else f"; of {country}, or with the two letters of its own country before it"


def address(value: object) -> str | None:
    """Return an address with its lines as ``fields.text`` would have them; ``None`` if the value is none."""
    if not isinstance(value, str):
        return None
    lines = texts.described_lines(value, lambda line: texts.described(line, MAX_ADDRESS))
    return texts.cut(lines, MAX_ADDRESS).strip("\n") or None


def country_of(value: object) -> str | None:
    """Return the code of a country; ``None`` if the value is none."""
    return value if isinstance(value, str) and value in COUNTRIES else None


def iban_of(value: object) -> str | None:
    """Return the canonical form of an IBAN; raise ``ValueError`` with what is wrong."""
    return read_iban(value) if isinstance(value, str) else None


def vat_id_of(value: object, country: str | None) -> str | None:
    """Return the canonical form of a party's VAT id; raise ``ValueError`` with what is wrong."""
    return read_vat_id(value, country) if isinstance(value, str) else None


def _payers(outer: Fields, field: str, expected: str, read: Callable[[object], str | None]) -> tuple[str, ...]:
    """Return the names or IBANs of a field, each once; a problem is added for those that are none."""
    sent = outer.value(field, f"a list of at most {MAX_PAYERS}: {expected}", _short_list, optional=True) or []
    within = outer.within(field, {str(number): one for number, one in enumerate(sent)})
    found = (within.value(str(number), expected, read) for number in range(len(sent)))
    return tuple(dict.fromkeys(one for one in found if one))


def _short_list(value: object) -> list[Any] | None:
    return value if isinstance(value, list) and len(value) <= MAX_PAYERS else None


def _object(value: object) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) else None


def _taxed_kind(value: object) -> str | None:
    return None if value == fields.OPENING else fields.kind(value)


def _scheme(value: object) -> str | None:
    return value if isinstance(value, str) and value in SCHEMES else None


def _reason_code(value: object) -> str | None:
    return value if isinstance(value, str) and value in VATEX else None


def _status(value: object) -> str | None:
    return value if isinstance(value, str) and value in STATUSES else None


def _language(value: object) -> str | None:
    return value if isinstance(value, str) and value in LANGUAGES else None


def _collects(value: object) -> str | None:
    return value if isinstance(value, str) and value in COLLECTORS else None


def read_external_ids(outer: Fields, field: str) -> ExternalIds:
    """Return the ids in a field; a problem is added for each that is none."""
    sent = outer.value(field, _IDS, lambda value: value if isinstance(value, Mapping) else None, optional=True) or {}
    inner = outer.within(field, sent)
    inner.report_unknown(frozenset(PROVIDERS))
    return {provider: _ids(inner, provider) for provider in PROVIDERS if sent.get(provider) is not None}


def _ids(inner: Fields, provider: str) -> tuple[str, ...]:
    sent: list[Any] = inner.value(provider, _ID_LIST, _id_list) or []
    each = inner.within(provider, {str(number): one for number, one in enumerate(sent)})
    found = (each.value(str(number), fields.TEXT, external_id) for number in range(len(sent)))
    return tuple(dict.fromkeys(one for one in found if one))


def _id_list(value: object) -> list[Any] | None:
    return value if isinstance(value, list) and len(value) <= MAX_IDS else None


def aliases_of(ids: ExternalIds) -> frozenset[Alias]:
    """Return the ids as names that one agency alone may have."""
    return frozenset(Alias(provider, text) for provider, texts in ids.items() for text in texts)
