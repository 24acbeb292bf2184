"""Forgets customers."""

from dataclasses import dataclass
from typing import Any

from quarterhour.customers.keys import forgotten_in, is_token
from quarterhour.customers.requests import ForgetRequest
from quarterhour.customers.store import VaultStore
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class ForgettingService:
    """Deletes the keys and the names of customers, and keeps a log of it."""

    vault: VaultStore

    def forget(self, request: ForgetRequest) -> dict[str, Any]:
        """Forget a customer; return the token that stays, ``None`` if nothing is known of the customer."""
        name = request.customer
        if is_token(name):
            name = self.vault.names([name]).get(name, "")
        token = self.vault.tokens([name]).get(name) if name else None
        if token is None:
            return {"token": None}  # nosec B105 - no secret
        at = iso_millis(clock.now())
        forgotten = self.vault.forget(name, token, at, {"by": request.by, "reason": request.reason})
        if not forgotten and self.vault.tokens([name]):
            raise UnavailableError("the customer's key was not deleted: run quarterhour forget again")
        return {"token": token}

    def forgotten(self) -> dict[str, Any]:
        """Return the log of what was forgotten, the oldest first."""
        entries = ((*forgotten_in(values), values["by"], values["reason"]) for values in self.vault.forgotten())
        return {"items": [dict(zip(("at", "token", "by", "reason"), entry, strict=True)) for entry in entries]}
