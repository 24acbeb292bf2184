"""The parameters of paths and queries: the meaning, type and example of each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from quarterhour.model.api import (
    Currency,
    Day,
    Location,
    Moment,
    Month,
    Name,
    Run,
    SentInstant,
    Text,
    Token,
    constrained,
)
from quarterhour.orders.api import ShortName
from quarterhour.registry.documents.keys import MAX_NAME, MAX_VERSION
from quarterhour.reports.projections.plan import MAX_LEVELS
from quarterhour.web.paging import DEFAULT_LIMIT, MAX_LIMIT

Limit = Annotated[int, constrained(minimum=1, maximum=MAX_LIMIT, default=DEFAULT_LIMIT)]
Layer = Annotated[str, constrained(pattern="^[a-z0-9]+$")]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter's description, the type of its values (``shape``) and an example."""

    description: str
    shape: Any
    example: Any = None
    required: bool = False

    @property
    def as_required(self) -> "Parameter":
        """The same parameter, as a required one."""
        return replace(self, required=True)


PATH: Final[Mapping[str, Parameter]] = {
    "agency": Parameter("The agency.", Name, "42"),
    "currency": Parameter("The currency.", Currency, "GBP"),
    "customer": Parameter("The customer.", Name, "ann"),
    "delivery": Parameter(
        "The id of the parked delivery.",
        Annotated[str, constrained(pattern="^[1-9A-HJ-NP-Za-km-z]{22}$")],
        "6tU1tmgrB7QHHMrXoxQ916",
    ),
    "document": Parameter(
        "The document's name: `rate-card:<agency>`, `rate-card:group/<group>` or `rate-card:default` is a rate card, "
        "`agency:<agency>` an agency's registration, `owner` the marketplace's owner, "
        "`reconciliation:<period>:<provider>` the result of a reconciliation.",
        Annotated[str, constrained(minLength=1, maxLength=MAX_NAME, pattern="^[^#]+$")],
        "rate-card:42",
    ),
    "event": Parameter("The event's id.", Name, "e0"),
    "kind": Parameter(
        "The kind of the discussed thing.", Literal["orders", "lines", "reports", "agencies", "statements"], "orders"
    ),
    "layer": Parameter("The layer of snapshots, one with windows.", Layer, "5m"),
    "name": Parameter(
        "The name of the subscription or the connection: lower-case letters, digits and hyphens. The subscription "
        "`bus` is the EventBridge bus.",
        Annotated[str, constrained(maxLength=50, pattern="^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$")],
        "erp",
    ),
    "order": Parameter("The order's id.", ShortName, "1001"),
    "period": Parameter("The period.", Month, "2026-10"),
    "location": Parameter("The location, a path that begins with the country, such as `GB#London`.", Location, "GB"),
    "run": Parameter("The report run.", Run, "2026-10-23T0130-0200"),
    "source": Parameter("The events' source.", Name, "shop"),
    "start": Parameter("An instant in the window.", Moment, "2026-10-23T01:30:00Z"),
    "subject": Parameter(
        "An order's id, a line's `<source>#<id>`, a report run, an agency, or a statement's "
        "`<agency>#<currency>#<period>`.",
        str,
        "1001",
    ),
    "version": Parameter("The version's number.", Annotated[int, constrained(minimum=1, maximum=MAX_VERSION)], 1),
}

QUERY: Final[Mapping[str, Parameter]] = {
    "after": Parameter("Only those after this instant.", Moment),
    "agency": Parameter("Only those of this agency.", Name, "42"),
    "at": Parameter("The state at this instant.", SentInstant),
    "before": Parameter("Only those before this instant.", Moment),
    "date": Parameter("Only those of this day in UTC.", Day),
    "from": Parameter("The first instant, or a date for its midnight UTC.", Moment, "2026-10-23"),
    "kind": Parameter("The kind of states.", Literal["accounts", "exchange-rates"]),
    "last": Parameter("The number of newest ones to return, newest first.", Limit, 3),
    "layer": Parameter("The layer of snapshots.", Layer, "5m"),
    "level": Parameter(
        "At which level of locations to add up: 1 is the country.",
        Annotated[int, constrained(minimum=1, maximum=MAX_LEVELS)],
    ),
    "limit": Parameter("The maximum of items on a page.", Limit, 10),
    "next": Parameter("The token `next` of the previous page; the other parameters must stay the same.", Token),
    "order": Parameter("The order of the items; without it, `oldest`.", Literal["oldest", "newest"], "newest"),
    "period": Parameter(
        "The first part of an instant in UTC: `2026`, `2026-10`, `2026-10-23T01`.",
        Annotated[str, constrained(pattern="^[0-9]{4}(-[0-9]{2}(-[0-9]{2}(T[0-9]{2}(:[0-9]{2}(:[0-9]{2})?)?)?)?)?$")],
        "2026-10",
    ),
    "reason": Parameter(
        "Only those that wait for this.",
        Literal["unknown_sale", "unregistered_agency", "closed_agency", "needs_approval"],
    ),
    "product": Parameter("Only those of this product.", Name, "TEA-250"),
    "status": Parameter("The orders' status.", Literal["open", "paid", "shipped"], "open"),
    "to": Parameter("The end, not included: an instant, or a date for its midnight UTC.", Moment, "2026-10-24"),
    "user": Parameter("Only those of this user.", Name, "ann"),
}

LAYER: Final = QUERY["layer"].as_required
"""The layer, for routes that need one."""
HELD: Final = {
    "status": Parameter(
        "Those that wait, or those that were discarded; without it, `held`.", Literal["held", "discarded"]
    ),
    "before": Parameter("Only those held before this instant.", Moment),
}
"""The parameters of the list of held events."""
LISTED_STATEMENTS: Final = {
    "period": Parameter("Only those of this period.", Month, "2026-10"),
    "status": Parameter(
        "Only those in this status.",
        Literal["issued", "accepted", "disputed", "resolved", "cancelled"],
    ),
}
"""The parameters of the list of statements."""
DRAFTS: Final = {
    "period": LISTED_STATEMENTS["period"],
    "preview": Parameter(
        "With commission, tax and closing balance of the statement that each would be now; without it, `false`.",
        Literal["true", "false"],
        "true",
    ),
}
"""The parameters of the list of drafts."""
SEARCHED: Final = {
    "q": Parameter(
        "A name, a number or an id.",
        Annotated[str, constrained(minLength=1, maxLength=200)],
        "S-000001",
        required=True,
    )
}
"""The parameter of the search."""
RECEIVABLES: Final = {
    "on": Parameter(
        "The business date of what is open; without it, today. A day that is over has the documents issued and the "
        "payments recorded by its end (UTC), the same for ever; it has ended in UTC, too, and is at most 799 days ago.",
        Day,
        "2026-12-10",
    )
}
"""The parameters of the receivables."""
BANK_FILES: Final = {
    "format": Parameter(
        "The format of the file; without it, the one that its content shows.",
        Literal["camt.053", "mt940", "csv"],
        "csv",
    )
}
"""The parameters of a bank's file."""
RERATING: Final = {
    "rate_card": Parameter(
        "The document of the rate card: the agency's, a group's or the default one.", str, "rate-card:42", required=True
    ),
    "version": Parameter(
        "Its version; without it, the latest.", Annotated[int, constrained(minimum=1, maximum=MAX_VERSION)]
    ),
    "agency": Parameter("The agency whose events are rerated.", Name, "42", required=True),
    "from": Parameter("The first instant of recording.", Moment, "2026-10-23", required=True),
    "to": Parameter("The end of the span, not included.", Moment, "2026-10-24", required=True),
    "reason": Parameter("Why; each re-rating keeps it.", Text, "new contract", required=True),
}
"""The parameters of the preview of re-ratings."""
DISPUTES: Final = {
    "status": Parameter(
        "Those that are open, or those that are resolved; without it, `open`.",
        Literal["open", "resolved"],
        "resolved",
    )
}
"""The parameters of the list of disputes."""
SPAN: Final = {"from": QUERY["from"].as_required, "to": QUERY["to"].as_required}
"""The parameters of routes that need both bounds."""
DAYS: Final = {
    "from": Parameter("The first day, in UTC.", Day, "2026-10-23", required=True),
    "to": Parameter("The day after the last, in UTC.", Day, "2026-10-24", required=True),
}
"""The parameters of routes whose spans are whole days."""
BY: Final = Parameter(
    "What the sales of a day are split by; without it, `product`.", Literal["product", "category", "day"], "product"
)
MONTHS: Final = {
    "from": Parameter("The first month; without it, the first of all.", Month, "2026-10"),
    "to": Parameter("The month after the last; without it, to the last of all.", Month, "2027-01"),
}
"""The parameters of routes whose spans are whole months."""
