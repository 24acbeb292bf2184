"""Forgets customers, removes texts of messages, and moves data from before the vault."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from quarterhour.aws.items import chunks
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import marker_sets
from quarterhour.counters.plan import Retention
from quarterhour.counters.store import CounterStore
from quarterhour.customers.keys import forgotten_in, is_token
from quarterhour.customers.store import VaultStore
from quarterhour.customers.tokens import CustomerTokens
from quarterhour.maintenance.forgetting.plan import MoveResult, MoveState, NamedDay
from quarterhour.maintenance.forgetting.requests import ForgetRequest, RedactRequest
from quarterhour.maintenance.forgetting.store import ForgettingStore
from quarterhour.messages.keys import claim_hash
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, NotFoundError, UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import CheckpointStore, RunStore

_NAMES_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class CustomerMove:
    """Moves data from before the vault, so that a customer who comes again counts as the one who was there before.

    Each customer in a sealed line gets a token, and the token the customer's markers. Repeated, it changes nothing.
    """

    vault: VaultStore
    checkpoints: CheckpointStore
    runs: RunStore
    files: SealedFiles
    counters: CounterStore
    retention: Retention
    workers: Workers

    def move(self, in_time: Callable[[], bool]) -> MoveResult:
        """Move the sealed days that are not moved yet, the oldest first, while there is time."""
        found = self.vault.state()
        state = MoveState.of(found, clock.now())
        if state.complete:
            return MoveResult(state, more=False)
        if not found:
            # First: what is recorded on later days holds tokens, as this function runs in a deployment with a vault.
            self.vault.put_state(state.values())
        at = self.checkpoints.checkpoint()
        through = at.sealed_through if at else None
        if through:
            for day, runs in self.runs.days(state.first, through):
                if QuarterHour.last_of(day) > through:
                    break
                if not in_time():
                    return MoveResult(state, more=True)
                named = NamedDay.of(self.files.lines_of(runs))
                self._move_day(day, named)
                state = state.moved(day, named)
                self.vault.put_state(state.values())
        state = state.ended(through, clock.now())
        if state.complete:
            self.vault.put_state(state.values())
        return MoveResult(state, more=False)

    def _move_day(self, day: date, named: NamedDay) -> None:
        tokens = self._tokens({name for some in named.names.values() for name in some})

        def move(one: tuple[Account, frozenset[str]]) -> None:
            account, names = one
            former = {tokens[name]: name for name in names}
            self.counters.move_markers(marker_sets(account, day, former, self.retention, former))

        self.workers.map(move, named.names.items())

    def _tokens(self, names: Iterable[str]) -> dict[str, str]:
        tokens: dict[str, str] = {}
        read = CustomerTokens(self.vault)
        for some in chunks(sorted(names), _NAMES_AT_ONCE):
            found = read(some)
            if len(found) < len(some):
                raise UnavailableError("the vault is not available: run the move again, a little later")
            tokens |= found
        return tokens


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Forgets customers, and removes texts of messages. ``vault``: ``None`` if the deployment has none."""

    vault: VaultStore | None
    store: ForgettingStore

    def forget(self, request: ForgetRequest) -> dict[str, Any]:
        """Forget a customer; return the token that stays, ``None`` if nothing is known of the customer.

        Repeated after a crash, it does the rest. Raises ``ConflictError`` as long as data from before the vault are not
        moved: until then, whether the customer is counted is only known by the name.
        """
        vault = self.vault_or_refuse()
        if "complete" not in vault.state():
            raise ConflictError("data from before the vault are not moved: run quarterhour forget --move first")
        name = vault.names([request.customer]).get(request.customer) if is_token(request.customer) else request.customer
        entries = self.store.orders_of(name) if name else []
        tokens = vault.tokens([name]) if name else {}
        if name and entries and not tokens:
            # Only orders from before the vault know the customer.
            tokens = dict(CustomerTokens(vault)([name]))
        if not name or name not in tokens:
            return {"token": None, "orders": 0}  # nosec B105 - no secret
        token = tokens[name]
        self.store.give_token(entries, name, token)
        at = iso_millis(clock.now())
        forgotten = vault.forget(name, token, at, {"by": request.by, "reason": request.reason})
        if not forgotten and vault.tokens([name]):
            raise UnavailableError("the customer's key was not deleted: run quarterhour forget again")
        return {"token": token, "orders": len({entry["pk"] for entry in entries})}

    def forgotten(self) -> dict[str, Any]:
        """Return the log of what was forgotten, the oldest first."""
        entries = (
            (*forgotten_in(values), values["by"], values["reason"]) for values in self.vault_or_refuse().forgotten()
        )
        return {"items": [dict(zip(("at", "token", "by", "reason"), entry, strict=True)) for entry in entries]}

    def redact(self, request: RedactRequest) -> dict[str, Any]:
        """Remove the text of a message; raise ``NotFoundError`` if there is none."""
        at = iso_millis(clock.now())
        hash_ = claim_hash(request.thread, request.user, request.id)
        if not self.store.redact(request, hash_, {"at": at, "by": request.by, "reason": request.reason}):
            raise NotFoundError("there is no such message")
        return {"redacted": at}

    def vault_or_refuse(self) -> VaultStore:
        """Return the vault; raise ``ConflictError`` if the deployment has none."""
        if self.vault is None:
            raise ConflictError("the deployment has no vault: update it with the parameter CustomerVault on")
        return self.vault
