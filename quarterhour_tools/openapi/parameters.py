"""The variables of paths and the parameters of queries: what each means, with one that goes into an example."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from quarterhour.documents.keys import MAX_NAME, MAX_VERSION
from quarterhour.locations.plan import MAX_LEVELS
from quarterhour.web.paging import DEFAULT_LIMIT, MAX_LIMIT
from quarterhour_tools.openapi.values import Currency, Day, Moment, Name, Place, Run, SentInstant, ShortName, Token

Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT, default=DEFAULT_LIMIT)]
Layer = Annotated[str, Field(pattern="^[a-z0-9]+$")]


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a parameter means: ``of`` is the type of its values."""

    says: str
    of: Any
    example: Any = None
    required: bool = False

    @property
    def needed(self) -> "Parameter":
        """The same where nothing can be answered without it."""
        return replace(self, required=True)


PATH: Final[Mapping[str, Parameter]] = {
    "agency": Parameter("The agency.", Name, "42"),
    "currency": Parameter("The currency.", Currency, "GBP"),
    "customer": Parameter("The customer.", Name, "ann"),
    "document": Parameter(
        "The document's name; `rate-card:<agency>` is an agency's rate card.",
        Annotated[str, Field(min_length=1, max_length=MAX_NAME, pattern="^[^#]+$")],
        "rate-card:42",
    ),
    "event": Parameter("The event's id.", Name, "e0"),
    "kind": Parameter("What is discussed.", Literal["orders", "lines", "reports"], "orders"),
    "layer": Parameter("The layer of snapshots: one with windows.", Layer, "5m"),
    "order": Parameter("The order's id.", ShortName, "1001"),
    "place": Parameter("The place: a path from the country down, such as `GB#London`.", Place, "GB"),
    "run": Parameter("The run.", Run, "2026-10-23T0130-0200"),
    "source": Parameter("The events' source.", Name, "shop"),
    "start": Parameter("Any instant in the window.", Moment, "2026-10-23T01:30:00Z"),
    "subject": Parameter("An order's id, a line's `<source>#<id>`, or a run.", str, "1001"),
    "version": Parameter("The version's number.", Annotated[int, Field(ge=1, le=MAX_VERSION)], 1),
}

QUERY: Final[Mapping[str, Parameter]] = {
    "after": Parameter("Later than this instant.", Moment),
    "agency": Parameter("Of this agency alone.", Name, "42"),
    "at": Parameter("As of this instant.", SentInstant),
    "before": Parameter("Earlier than this instant.", Moment),
    "date": Parameter("On this day, UTC.", Day),
    "from": Parameter("Not before this instant, or the midnight of this date.", Moment, "2026-10-23"),
    "kind": Parameter("Of what kind.", Literal["accounts", "exchange-rates"]),
    "last": Parameter("So many of the newest, the newest first.", Limit, 3),
    "layer": Parameter("The layer of snapshots.", Layer, "5m"),
    "level": Parameter(
        "At which level of places to add up: 1 is the country.", Annotated[int, Field(ge=1, le=MAX_LEVELS)]
    ),
    "limit": Parameter("The most items of a page.", Limit, 10),
    "next": Parameter("The page that follows: `next` of the answer before, with all else as it was.", Token),
    "order": Parameter("In which order.", Literal["oldest", "newest"], "newest"),
    "period": Parameter(
        "The beginning of an instant in UTC: `2026`, `2026-10`, `2026-10-23T01`.",
        Annotated[str, Field(pattern="^[0-9]{4}(-[0-9]{2}(-[0-9]{2}(T[0-9]{2}(:[0-9]{2}(:[0-9]{2})?)?)?)?)?$")],
        "2026-10",
    ),
    "product": Parameter("Of this product alone.", Name, "TEA-250"),
    "status": Parameter("In which status.", Literal["open", "paid", "shipped"], "open"),
    "to": Parameter("Before this instant, or the midnight of this date.", Moment, "2026-10-24"),
    "user": Parameter("Of this user alone.", Name, "ann"),
}

SPAN: Final = {"from": QUERY["from"].needed, "to": QUERY["to"].needed}
"""Of routes that need both bounds."""
DAYS: Final = {
    "from": Parameter("From this day on, UTC.", Day, "2026-10-23", required=True),
    "to": Parameter("Up to this day, which is not included.", Day, "2026-10-24", required=True),
}
"""Of routes whose spans are of whole days."""
