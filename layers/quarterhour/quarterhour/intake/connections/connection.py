"""A connection: who sends its webhooks, with which secrets, and how they become events. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import scrypt
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.aws.secrets import SecretRef
from quarterhour.file_formats.webhooks.delivery import AgencyRule, MapSettings, Provider
from quarterhour.intake.connections.keys import connection_key, state_key
from quarterhour.intake.connections.state import shown_state

if TYPE_CHECKING:
    from quarterhour.intake.connections import api

INCLUDED: Final = "included"
EXCLUDED: Final = "excluded"
SHORTEST_SECRET: Final = 16
LONGEST_SECRET: Final = 200
LONGEST_MAP: Final = 100_000
"""The most bytes of a map."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection. ``version`` rises with each change that people make. ``secrets``: the first one is in force.

    ``digest``: that of the secret in force, by which a request that comes again is known; no function that writes
    secrets may read them.
    """

    name: str
    provider: Provider
    settings: MapSettings
    created_at: str
    version: int
    secrets: tuple[SecretRef, ...]
    digest: str

    def secrets_at(self, now: datetime) -> list[str]:
        """Return the ids of the secrets by which a delivery may be signed."""
        return [one.id for one in self.secrets if one.is_valid(now)]

    def as_item(self) -> dict[str, Any]:
        """Return the item of the Entity table."""
        settings = self.settings
        return {
            **connection_key(self.name),
            "provider": self.provider.value,
            "settings": {**settings._asdict(), "agency": settings.agency._asdict()},
            "created_at": self.created_at,
            "version": self.version,
            "secrets": [one.as_dict() for one in self.secrets],
            "digest": self.digest,
        }

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_item`` returned."""
        settings = values["settings"]
        return cls(
            values["sk"],
            Provider(values["provider"]),
            MapSettings(**{**settings, "agency": AgencyRule(**settings["agency"])}),
            values["created_at"],
            int(values["version"]),
            tuple(SecretRef(one["id"], one.get("until")) for one in values["secrets"]),
            values["digest"],
        )

    def shown(self, state: Mapping[str, Any] | None, base_url: str) -> "api.Connection":
        """Return the connection as the API shows it, without its secrets.

        ``state``: the item of what it has delivered, if any. ``base_url``: that of all connections; empty if the
        deployment takes no deliveries.
        """
        settings, now = self.settings, state or state_key(self.name)
        return {
            "name": self.name,
            "provider": self.provider,
            "url": f"{base_url}/connections/{self.name}" if base_url else None,
            "agency": _shown_agency(settings.agency),
            "source": settings.source or None,
            "tax": None if settings.with_tax is None else _word(included=settings.with_tax),
            "shipping": _word(included=settings.with_shipping),
            "test": _word(included=settings.with_test),
            "map": settings.map or None,
            "created_at": self.created_at,
            "version": self.version,
            "secret_rotates_until": next((one.until for one in self.secrets[1:]), None),
            "state": shown_state(now),
        }


def digest_of(id_: str, secret: str) -> str:
    """Return the digest of a secret, salted with its id: slow, as some providers let people choose a secret."""
    return scrypt(secret.encode(), salt=id_.encode(), n=1 << 14, r=8, p=1, dklen=32).hex()


def _shown_agency(rule: AgencyRule) -> "api.AgencyByName | api.AgencyById | str | None":
    if rule.fixed:
        return rule.fixed
    if not rule.field:
        return None
    return {"external_id": rule.field} if rule.is_external else {"field": rule.field}


def _word(*, included: bool) -> "api.Included":
    return INCLUDED if included else EXCLUDED
