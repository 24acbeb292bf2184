"""The contents of documents in requests, as types."""

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import (
    Count,
    Country,
    Currency,
    Month,
    Name,
    SentDecimal,
    SentInstant,
    Text,
    constrained,
    one_of,
)
from quarterhour.registry.agencies.addresses import LONGEST_POST_CODE
from quarterhour.registry.agencies.agency import MAX_ADDRESS
from quarterhour.registry.agencies.api import AgencyData
from quarterhour.registry.owner import MAX_LOGO, MAX_PAYMENT_DAYS, TITLES
from quarterhour.registry.rate_cards.api import RateCard
from quarterhour.registry.reconciliation.result import MAX_DIFFERENCES, MAX_SUMS
from quarterhour.registry.reconciliation.result import MAX_PROBLEMS as MAX_RESULT_PROBLEMS
from quarterhour.registry.reconciliation.result import MAX_TEXT as MAX_TEXT_OF_RESULT

ResultText = Annotated[str, constrained(maxLength=MAX_TEXT_OF_RESULT)]


class ReconciliationTotal(TypedDict):
    """What provider and ledger have of a measure in a currency, and the difference."""

    measure: Literal["amount", "fee"]
    currency: Currency
    provider: SentDecimal
    ledger: SentDecimal
    difference: SentDecimal


class ReconciliationSum(ReconciliationTotal):
    """What one label, such as `missing here`, explains of a total."""

    label: ResultText
    findings: Count


class ReconciliationDifference(TypedDict):
    """Lines that do not match; one for each currency."""

    line: ResultText
    """Where they begin in the file; empty if they are not in it."""
    name: ResultText
    kind: ResultText
    label: ResultText
    currency: Currency
    provider: SentDecimal
    ledger: SentDecimal
    difference: SentDecimal
    agency: ResultText
    events: ResultText
    note: ResultText


class ReconciliationData(TypedDict):
    """The result of comparing a provider's file with the sealed ledger."""

    period: Month
    provider: Name
    file: ResultText
    made_at: SentInstant
    sealed_until: NotRequired[SentInstant | None]
    """The end of the last sealed quarter-hour; without it, none is sealed."""
    rows: Count
    others: Count
    """The rows of which the map makes no line."""
    outside: Count
    """The lines of other months."""
    difference_count: Count
    problem_count: Count
    proposals: Count
    problems: Annotated[list[ResultText], constrained(maxItems=MAX_RESULT_PROBLEMS)]
    totals: Annotated[list[ReconciliationTotal], constrained(maxItems=MAX_SUMS)]
    sums: Annotated[list[ReconciliationSum], constrained(maxItems=MAX_SUMS)]
    differences: Annotated[list[ReconciliationDifference], constrained(maxItems=MAX_DIFFERENCES)]


class OwnerData(TypedDict):
    """The data of the marketplace's owner from an instant on. Without `valid_from`, from the beginning of time."""

    legal_name: Text
    address: NotRequired[Annotated[str, constrained(minLength=1, maxLength=MAX_ADDRESS)] | None]
    """Printable characters and line breaks."""
    country: NotRequired[Country | None]
    vat_id: NotRequired[Text | None]
    """The owner's own, with correct check digits as that of an agency."""
    contact: NotRequired[Text | None]
    logo: NotRequired[Annotated[str, constrained(maxLength=MAX_LOGO)] | None]
    """A data URI of a PNG, JPEG, WebP or SVG image in base64."""
    iban: NotRequired[Text | None]
    """Where the agencies pay, with correct check digits; blanks do not count."""
    payment_days: NotRequired[Annotated[int, constrained(minimum=0, maximum=MAX_PAYMENT_DAYS)] | None]
    """The days from a statement's issue to the day when it must be paid; without it, 30."""
    titles: NotRequired[dict[str, Annotated[str, one_of(TITLES)]] | None]
    """What statements are called, by the agency's country; `other` stands for all that are not named."""
    post_code: NotRequired[Annotated[str, constrained(maxLength=LONGEST_POST_CODE)] | None]
    """In the form of the country; that of the line of the town in `address`, if it has one."""
    town: NotRequired[Text | None]
    email: NotRequired[Text | None]
    phone: NotRequired[Text | None]
    electronic_address: NotRequired[Text | None]
    """Its own for electronic invoices: a scheme of the list EAS and an address in it, such as `9930:DE136695976`."""
    registration_number: NotRequired[Text | None]
    """In a register of companies; with a scheme of the list ICD before it, if it has one, such as `0106:12345678`."""
    valid_from: NotRequired[SentInstant | None]
    """The instant from which the version is in force; without it, always."""


class Draft(TypedDict):
    """A new version of a document, based on the version that the writer has seen."""

    seen: Count
    """The number of the version seen; 0 for a new document."""
    content: RateCard | AgencyData | OwnerData | ReconciliationData | Any
    """Any JSON of up to 200,000 bytes; for `rate-card:…`, `agency:<agency>`, `owner` and `reconciliation:…`, what their
    schema allows."""
