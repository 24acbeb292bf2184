"""Reading connections, what they have delivered, and their parked deliveries."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity_table import EntityReader
from quarterhour.intake.connections.connection import Connection
from quarterhour.intake.connections.keys import (
    connection_key,
    connections,
    content_key,
    is_delivery_id,
    parked,
    parked_key,
    state_key,
)
from quarterhour.intake.connections.parked import Parked, content_of
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import is_slug
from quarterhour.web.paging import Paging

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quarterhour.intake.connections import api
    from quarterhour.web.paging import Page


@dataclass(frozen=True, slots=True)
class ConnectionQueries:
    """Reads connections. ``base_url``: that of all of them; empty if the deployment takes no deliveries."""

    entities: EntityReader
    base_url: str

    def connections(self, paging: Paging) -> "Page[api.Connection]":
        """Return a page of the connections, by name."""
        after = paging.start(_name, None)
        found = [Connection.parse(one) for one in self.entities.read(connections(after), paging.limit + 1)]
        read = self.entities.get_many([state_key(one.name) for one in found])
        states: Mapping[str, Any] = {one["sk"]: one for one in read}
        return paging.cut(found, lambda one: one.shown(states.get(one.name), self.base_url), lambda one: one.name)

    def connection(self, name: str) -> "api.Connection":
        """Return a connection with what it has delivered; raise ``NotFoundError`` if there is none."""
        values = self.entities.get(connection_key(name))
        if values is None:
            raise NotFoundError(f"there is no connection {name}")
        return Connection.parse(values).shown(self.entities.get(state_key(name)), self.base_url)

    def parked(self, name: str, paging: Paging) -> "Page[api.ParkedDelivery]":
        """Return a page of the parked deliveries of a connection, by their ids."""
        after = paging.start(_id, None)
        found = map(Parked.parse, self.entities.read(parked(name, after), paging.limit + 1))
        return paging.cut(found, Parked.shown, lambda one: one.id)

    def parked_one(self, name: str, id_: str) -> "api.ParkedContent":
        """Return a parked delivery with its content; raise ``NotFoundError`` if there is none."""
        values = self.entities.get(parked_key(name, id_))
        if values is None:
            raise NotFoundError(f"the connection {name} has no parked delivery of this id")
        found = Parked.parse(values)
        keys = [content_key(name, id_, number) for number in range(found.parts)]
        content = content_of(self.entities.get_many(keys))
        return {**found.shown(), "content": content.decode(errors="replace")}


def _name(text: str) -> str:
    if not is_slug(text):
        raise ValueError(text)
    return text


def _id(text: str) -> str:
    if not is_delivery_id(text):
        raise ValueError(text)
    return text
