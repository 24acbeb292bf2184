"""The secrets of subscriptions and connections: parameters of Systems Manager, encrypted, each written once."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_bytes
from typing import TYPE_CHECKING, Final

from quarterhour.aws.items import Request, chunks
from quarterhour.aws.retries import with_retries
from quarterhour.model.clock import iso_millis, parse_iso

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

_SERVICE: Final = "Systems Manager"
_BYTES: Final = 32
_MOST: Final = 10
"""The most parameters of one call."""
OVERLAP: Final = timedelta(days=1)
"""How long the secret before is still in use, after a rotation."""


@dataclass(frozen=True, slots=True)
class SecretRef:
    """The name of a stored secret; ``until``: when it ends (ISO 8601), of one that was rotated."""

    id: str
    until: str | None = None

    def is_valid(self, now: datetime) -> bool:
        """Return whether the secret is in use at an instant."""
        return self.until is None or parse_iso(self.until) > now

    def as_dict(self) -> dict[str, str]:
        """Return the reference as it is stored."""
        return {"id": self.id, **({"until": self.until} if self.until else {})}


def rotated(secrets: Sequence[SecretRef], new: SecretRef, now: datetime) -> tuple[SecretRef, ...]:
    """Return the secrets after a rotation: the new one, and the one before it for another day."""
    until = iso_millis(now + OVERLAP)
    return (new, *[SecretRef(one.id, one.until or until) for one in secrets if one.is_valid(now)][:1])


def new_secret() -> str:
    """Return a new secret in the form of the Standard Webhooks specification: ``whsec_`` and Base64."""
    return f"whsec_{b64encode(token_bytes(_BYTES)).decode()}"


def put_request(name: str, secret: str) -> Request:
    """Build the PutParameter of a new secret, which fails if the name is taken."""
    return {"Name": name, "Value": secret, "Type": "SecureString", "Overwrite": False}


@dataclass(frozen=True, slots=True)
class SecretStore:
    """Writes, reads and deletes secrets by their ids, below a path."""

    client: "SSMClient"
    path: str

    def put(self, id_: str, secret: str) -> None:
        """Write a secret under a new id."""
        request = put_request(self._name(id_), secret)
        with_retries(lambda: self.client.put_parameter(**request), _SERVICE)

    def get(self, ids: Sequence[str]) -> list[str]:
        """Return the secrets of these ids in their order; those that are gone are left out."""
        names = [self._name(id_) for id_ in ids]
        if not names:
            return []
        answer = with_retries(lambda: self.client.get_parameters(Names=names, WithDecryption=True), _SERVICE)
        found = {one["Name"]: one["Value"] for one in answer["Parameters"]}
        return [found[name] for name in names if name in found]

    def delete(self, ids: Sequence[str]) -> None:
        """Delete the secrets of these ids, as far as they are there."""
        for some in chunks([self._name(id_) for id_ in ids], _MOST):
            with_retries(lambda some=list(some): self.client.delete_parameters(Names=some), _SERVICE)  # type: ignore[misc]

    def _name(self, id_: str) -> str:
        return f"{self.path}/{id_}"
