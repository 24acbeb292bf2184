"""Reading whether agencies are registered, and closed, from the latest versions of their documents."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Self

from quarterhour.aws.entity import Key, Values
from quarterhour.aws.items import from_item
from quarterhour.aws.resources import Resources
from quarterhour.aws.tables import get_items
from quarterhour.aws.workers import Workers
from quarterhour.model import exact_json
from quarterhour.registry.agencies.registration import CLOSED, Registration, external_id
from quarterhour.registry.documents.keys import (
    AGENCY,
    Alias,
    agency_document,
    alias_key,
    document_of,
    is_agency,
    latest_key,
    version_key,
)
from quarterhour.registry.documents.timeline import timeline_of, version_at

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class RegistrationStore:
    """Reads the registrations among the documents of the Entity table, strongly consistent."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the registrations of a function."""
        return cls(resources.dynamodb, resources.entity_table, resources.workers)

    def read(self, agencies: Collection[str], at: datetime) -> dict[str, Registration]:
        """Return the registration of each agency at an instant.

        In one call as a rule. A second one is needed if the latest version of an agency is not in force yet. Raises
        ``UnavailableError`` if some could not be read.
        """
        found = dict.fromkeys(agencies, Registration.NONE)
        latest = self._items([latest_key(agency_document(one)) for one in agencies if is_agency(one)])
        earlier: list[Key] = []
        for agency, values in latest.items():
            version = version_at(timeline_of(values), at)
            found[agency] = Registration.ACTIVE
            if version == int(values["version"]):
                found[agency] = _registration(values)
            elif version is not None:
                earlier.append(version_key(agency_document(agency), version))
        found |= {agency: _registration(values) for agency, values in self._items(earlier).items()}
        return found

    def with_ids(self, provider: str, texts: Collection[str]) -> dict[str, str]:
        """Return the agency that has each of these external ids at a provider; without those that none has."""
        keys = {text: alias_key(Alias(provider, id_)) for text in texts if (id_ := external_id(text))}
        found = get_items(self.client, self.table, list(keys.values()), self.workers) if keys else ()
        agencies = {values["sk"]: values["document"].removeprefix(AGENCY) for values in map(from_item, found)}
        return {text: agencies[key["sk"]] for text, key in keys.items() if agencies.get(key["sk"])}

    def _items(self, keys: list[Key]) -> dict[str, Values]:
        """Return the items of some keys by the agency."""
        items = map(from_item, get_items(self.client, self.table, keys, self.workers)) if keys else ()
        return {document_of(values["pk"]).removeprefix(AGENCY): values for values in items}


def _registration(values: Values) -> Registration:
    # Most agencies are active: a version that does not hold the word at all need not be parsed.
    closed = CLOSED in values["content"] and exact_json.parse(values["content"]).get("status") == CLOSED
    return Registration.CLOSED if closed else Registration.ACTIVE
