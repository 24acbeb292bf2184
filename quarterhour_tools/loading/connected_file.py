"""A provider's export file, with the source and the agencies that a connection gives the events of its webhooks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from quarterhour.model.fields import label
from quarterhour_tools.csv.maps import MAPS_OF_PROVIDERS
from quarterhour_tools.errors import ToolError
from quarterhour_tools.target.remote import Remote

_SHOPIFY: Final = "shopify"
"""The provider whose export names agencies, as vendors."""


class UnknownAgencyError(Exception):
    """No agency has the external id that a row names; the message says which."""


@dataclass(frozen=True, slots=True)
class ConnectedFile:
    """How a connection names the source and the agencies of its events. ``by_vendor``: the agencies of external ids."""

    connection: Mapping[str, Any]
    by_vendor: Mapping[str, str] | None

    @classmethod
    def of(cls, remote: Remote, connection: Mapping[str, Any]) -> Self:
        """Return the reading of a connection's export file, with the registry's external ids if it needs them."""
        by_id = (connection["provider"], connection["agency"]) == (_SHOPIFY, {"external_id": "vendor"})
        return cls(connection, _by_vendor(remote) if by_id else None)

    def given(self, map_: str, given: Mapping[str, str]) -> dict[str, str]:
        """Return the values for a map: those given, and the connection's agency if the provider's map asks for it."""
        provider, agency = self.connection["provider"], self.connection["agency"]
        asks = MAPS_OF_PROVIDERS.get(provider) == map_ and provider != _SHOPIFY
        return {**({"agency": agency} if asks and isinstance(agency, str) else {}), **given}

    def event(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return an event of the file with the connection's source and agency.

        Raises ``UnknownAgencyError`` if no agency has the external id.
        """
        made = {**body, "source": self.connection["source"] or body["source"]}
        agency = self.connection["agency"]
        if isinstance(agency, str):
            return made | {"subject": agency}
        if self.by_vendor is None:
            return made
        found = self.by_vendor.get(label(body["subject"]) or "")
        if found is None:
            raise UnknownAgencyError(f"no agency has the {_SHOPIFY} id {body['subject']}")
        return made | {"subject": found}


def connected_file(remote: Remote, map_: str) -> ConnectedFile | None:
    """Return how the connection that takes a map's provider's webhooks as the same source reads the export file.

    Raises ``ToolError`` if several do, and find agencies in different ways.
    """
    if map_ not in MAPS_OF_PROVIDERS.values():
        return None
    found = [
        one
        for one in remote.pages("/connections", {})
        if MAPS_OF_PROVIDERS.get(one["provider"]) == map_ and one["source"] is None
    ]
    if any(one["agency"] != found[0]["agency"] for one in found):
        names = ", ".join(one["name"] for one in found)
        raise ToolError(f"{names} find agencies in different ways: use quarterhour reconcile --connection NAME")
    return ConnectedFile.of(remote, found[0]) if found else None


def _by_vendor(remote: Remote) -> dict[str, str]:
    """Return the registered agency of each vendor."""
    return {
        id_: one["agency"]
        for one in remote.pages("/agencies", {})
        for id_ in one.get("external_ids", {}).get(_SHOPIFY) or ()
    }
