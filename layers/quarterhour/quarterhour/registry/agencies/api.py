"""The requests and responses about agencies, as types."""

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import (
    BadRow,
    Count,
    Country,
    Currency,
    Instant,
    Name,
    Percent,
    SentInstant,
    Sha256,
    Text,
    constrained,
)
from quarterhour.registry.agencies.addresses import LONGEST_POST_CODE
from quarterhour.registry.agencies.agency import MAX_ADDRESS, MAX_IDS, MAX_PAYERS, MAX_RATES


class AgencyVersion(TypedDict):
    """A version of an agency's registration, without its content."""

    agency: Name
    version: Count
    sha256: Sha256
    """The hash of the content as canonical JSON."""
    written_at: Instant
    written_by: str
    valid_from: Instant
    """The start of its validity."""


class AgencyContent(AgencyVersion):
    """A version of an agency's registration."""

    content: dict[str, Any]
    """As it was registered."""


class ExternalIds(TypedDict):
    """The texts by which providers name an agency, each of one agency alone."""

    shopify: NotRequired[Annotated[list[Text], constrained(maxItems=MAX_IDS)] | None]
    """Such as its name as a vendor."""
    stripe: NotRequired[Annotated[list[Text], constrained(maxItems=MAX_IDS)] | None]
    """Such as its connected account."""
    woocommerce: NotRequired[Annotated[list[Text], constrained(maxItems=MAX_IDS)] | None]


class ListedAgency(TypedDict):
    """A registered agency by the latest version of its registration; what was not registered is left out."""

    agency: Name
    version: Count
    valid_from: Instant
    legal_name: NotRequired[Text]
    country: NotRequired[Country]
    currency: NotRequired[Currency]
    group: NotRequired[Name]
    external_ids: NotRequired[dict[str, list[Text]]]
    """By provider."""
    status: Literal["active", "closed"]


class TaxRate(TypedDict):
    """How some commissions of an agency are taxed."""

    scheme: Literal["standard", "reverse_charge", "exempt", "outside_scope"]
    percent: NotRequired[Percent | None]
    """Required with `standard`; none, or 0, with the others."""
    reason: NotRequired[Text | None]
    """The legal ground, in the agency's language; none with `standard`."""
    reason_code: NotRequired[Text | None]
    """The legal ground as a code of the list VATEX; none with `standard`."""


class TaxProfile(TypedDict):
    """How an agency's commissions are taxed."""

    scheme: Literal["standard", "reverse_charge", "exempt", "outside_scope"]
    """With `reverse_charge`, the agency owes the tax itself. With `outside_scope`, the law does not tax the service."""
    percent: NotRequired[Percent | None]
    """0 to 100, with at most 10 places. Required with `standard`; none, or 0, with the others."""
    reason: NotRequired[Text | None]
    """The legal ground in the agency's language, such as `§ 4 Nr. 8 UStG`; none with `standard`."""
    reason_code: NotRequired[Text | None]
    """The legal ground as a code of the list VATEX, such as `VATEX-EU-132-1A`; none with `standard`."""
    vat_id: NotRequired[Text | None]
    """With correct check digits, by the rules of `country` or of the country that its first letters name.

    Of a country without known rules, 4 to 20 letters and digits.
    """
    by_kind: NotRequired[Annotated[dict[str, TaxRate], constrained(maxProperties=MAX_RATES)] | None]
    """How adjustments of some kinds are taxed, such as `chargeback_fee`; not `opening`, which is never taxed."""
    by_category: NotRequired[Annotated[dict[str, TaxRate], constrained(maxProperties=MAX_RATES)] | None]
    """How lines of some categories are taxed, unless `by_kind` or `by_charge` names what is charged."""
    by_charge: NotRequired[Annotated[dict[str, TaxRate], constrained(maxProperties=MAX_RATES)] | None]
    """How charges of some names are taxed, such as `payment fee`, unless `by_kind` names the kind of their line."""


class AgencyData(TypedDict):
    """An agency's data from an instant on. Without `valid_from`, from the beginning of time."""

    legal_name: NotRequired[Text | None]
    address: NotRequired[Annotated[str, constrained(minLength=1, maxLength=MAX_ADDRESS)] | None]
    """Printable characters and line breaks."""
    country: NotRequired[Country | None]
    """A country code of ISO 3166-1, or `XK`."""
    tax: NotRequired[TaxProfile | None]
    currency: NotRequired[Currency | None]
    """The currency in which it is billed: stored, and not applied."""
    group: NotRequired[Name | None]
    """The group whose rate card applies if the agency's own has no rule for an event."""
    contact: NotRequired[Text | None]
    status: NotRequired[Literal["active", "closed"] | None]
    """Without it, `active`. Sales of a closed agency are held until it is active again."""
    language: NotRequired[Literal["en", "de", "fr", "es", "nl"] | None]
    """The language of its statements; without it, `en`."""
    collects: NotRequired[Literal["agency", "marketplace"] | None]
    """Who holds the customers' money; without it, `agency`. Each line is of who does at its tax point."""
    iban: NotRequired[Text | None]
    """The account to which the marketplace pays out what it owes, with correct check digits."""
    payout_hold: NotRequired[Text | None]
    """Why nothing is paid out to it; without it, payouts are made."""
    payer_names: NotRequired[Annotated[list[Text], constrained(maxItems=MAX_PAYERS)] | None]
    """Names by which a bank's lines tell it, beside `legal_name`."""
    payer_ibans: NotRequired[Annotated[list[Text], constrained(maxItems=MAX_PAYERS)] | None]
    """IBANs from which it is paid for, beside `iban`."""
    post_code: NotRequired[Annotated[str, constrained(maxLength=LONGEST_POST_CODE)] | None]
    """In the form of the country; that of the line of the town in `address`, if it has one."""
    town: NotRequired[Text | None]
    email: NotRequired[Text | None]
    phone: NotRequired[Text | None]
    electronic_address: NotRequired[Text | None]
    """Where electronic invoices go: a scheme of the list EAS and an address in it, such as `0088:4000001000005`."""
    registration_number: NotRequired[Text | None]
    """In a register of companies; with a scheme of the list ICD before it, if it has one, such as `0106:12345678`."""
    invoice_profile: NotRequired[Literal["en16931", "xrechnung", "peppol"] | None]
    """The profile of its electronic invoices; without it, `en16931`."""
    buyer_reference: NotRequired[Text | None]
    """What it wants its invoices to name, such as its Leitweg-ID."""
    purchase_order: NotRequired[Text | None]
    """The number of its order that its invoices name."""
    external_ids: NotRequired[ExternalIds | None]
    """By which [connections](connections.md) find it; those of the latest version count, whenever it is valid from."""
    valid_from: NotRequired[SentInstant | None]
    """When the version begins, for a change of tax at [local midnight](operations.md#registering-agencies)."""


class Registration(TypedDict):
    """A new version of an agency's registration, based on the version that the writer has seen."""

    seen: Count
    """The number of the version seen; 0 for a new agency."""
    content: AgencyData


class AgencyOfFile(TypedDict):
    """An agency in a file."""

    line: Annotated[int, constrained(minimum=1)]
    agency: Name
    content: dict[str, Any]
    """The content of its registration, as `PUT /agencies/{agency}` takes it."""


class AgenciesOfFile(TypedDict):
    """The agencies of a file."""

    items: list[AgencyOfFile]
    bad: list[BadRow]


class AgencyFile(TypedDict):
    """A file of agencies."""

    file: Annotated[str, constrained(contentEncoding="base64")]
    """The whole file, CSV or NDJSON, of up to 700,000 bytes, in Base64."""
