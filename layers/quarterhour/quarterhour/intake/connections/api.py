"""The requests and responses about connections, as types."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.intake.connections.connection import LONGEST_MAP, LONGEST_SECRET, SHORTEST_SECRET
from quarterhour.model.api import Count, Instant, Name, constrained

Included = Literal["included", "excluded"]


class AgencyByName(TypedDict):
    """A field of the payload whose text is the agency's name."""

    field: str
    """A path, such as `vendor` or `metadata.seller`, in the item and else in the order."""


class AgencyById(TypedDict):
    """A field of the payload whose text is one of the agency's `external_ids` in its registration."""

    external_id: str
    """A path, such as `vendor` or `account`, in the item and else in the order."""


class ConnectionState(TypedDict):
    """What a connection has delivered so far."""

    last_delivery: Instant | None
    delay_seconds: int | None
    """Of the last delivery that says when its event happened at the provider."""
    delivered: Count
    """Signed deliveries, those that the provider repeated too."""
    recorded: Count
    """Events."""
    duplicate: Count
    """Events."""
    held: Count
    """Events; each time that one is delivered while it is held."""
    excluded: dict[str, Count]
    """How often each rule has left something out."""
    parked: Count
    """Deliveries that are parked now."""
    refused_signatures: Count
    """Requests without a valid signature; approximately, as a function that ends forgets some."""


class Connection(TypedDict):
    """A connection, without its secrets."""

    name: Name
    provider: Provider
    url: str | None
    """What to enter at the provider; null if the deployment takes no deliveries."""
    agency: AgencyByName | AgencyById | Name | None
    source: Name | None
    """The source of its events; null for that of the provider's export file."""
    tax: Included | None
    """Whether tax is part of the amounts; null: as the shop's prices have it, and the provider's export file."""
    shipping: Included
    """Whether shipping is part of the amounts."""
    test: Included
    """Whether test deliveries are recorded."""
    map: str | None
    created_at: Instant
    version: Count
    """It rises with each change that people or programs make."""
    secret_rotates_until: Instant | None
    """Until when the secret before is accepted, too."""
    state: ConnectionState


class SentAgencyByName(TypedDict):
    """A field of the payload whose text is the agency's name."""

    field: str
    """A path, such as `vendor` or `metadata.seller`, in the item and else in the order."""


class SentAgencyById(TypedDict):
    """A field of the payload whose text is one of the agency's `external_ids` in its registration."""

    external_id: str
    """A path, such as `vendor` or `account`, in the item and else in the order."""


class ConnectionContent(TypedDict):
    """What a connection is to be."""

    provider: Provider
    secret: NotRequired[Annotated[str, constrained(minLength=SHORTEST_SECRET, maxLength=LONGEST_SECRET)] | None]
    """With which the provider signs. Needed for a new connection; later, it replaces the one before."""
    agency: NotRequired[SentAgencyByName | SentAgencyById | Name | None]
    """A fixed agency, or where it is found. Not for `generic`, whose events name their agencies."""
    source: NotRequired[Name | None]
    tax: NotRequired[Included | None]
    shipping: NotRequired[Included | None]
    test: NotRequired[Included | None]
    map: NotRequired[Annotated[str, constrained(maxLength=LONGEST_MAP)] | None]
    """A map of your own, as text."""
    seen: NotRequired[Count | None]
    """The version that it changes, 0 for a new connection: refused with 409 if there is another one now."""


class DeletedConnection(TypedDict):
    """The connection that was deleted."""

    name: Name
    deleted: Literal[True]


class ParkedDelivery(TypedDict):
    """A signed delivery of which something could not be recorded."""

    id: str
    topic: str
    """What it is about, as the provider names it."""
    reason: str
    received_at: Instant
    bytes: Count


class ParkedContent(ParkedDelivery):
    """A parked delivery with what was delivered."""

    content: str
    """What was delivered; bytes that are not UTF-8 are replaced."""


class ApplyingParked(TypedDict):
    """The parked deliveries of a connection are being applied again."""

    name: Name
    parked: Count


class DiscardedDelivery(TypedDict):
    """The parked delivery that was discarded."""

    id: str
    discarded: Literal[True]
