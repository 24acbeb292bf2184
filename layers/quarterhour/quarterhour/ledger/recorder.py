"""Recording events: gather the claims, plan, apply."""

from collections.abc import Sequence

from quarterhour import clock
from quarterhour.errors import UnavailableError
from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.keys import Identity
from quarterhour.ledger.recording import (
    Claim,
    Claimed,
    NextStep,
    Outcome,
    Phase,
    Terms,
    contents,
    first_of_each,
    ledger_values,
    next_step,
    outcomes,
    priced,
)
from quarterhour.ledger.store import LedgerStore
from quarterhour.quarters import Quarter


class Recorder:
    """Records events exactly once."""

    def __init__(self, terms: Terms, store: LedgerStore) -> None:
        self._terms = terms
        self._store = store
        self._prepared = False

    def record(self, items: Sequence[Event | Rejection], request_id: str) -> list[Outcome]:
        """Record the valid ones of a request's items, and answer each, in their order.

        Raises ``UnavailableError`` where the tables cannot be reached at all.
        """
        items = [priced(item, self._terms) for item in items]
        events = [item for item in items if isinstance(item, Event)]
        claims: dict[Identity, Claimed] = {}
        standing: dict[Identity, Claim] = {}
        if events:
            self._prepare()
            claims = self._claim(events, request_id)
            standing = self._append_missing(contents(events, claims), claims)
        return outcomes(items, claims, standing)

    def _prepare(self) -> None:
        # Before the clock is read for the first claim: whoever sets the checkpoint, claims come to lie behind it.
        if not self._prepared:
            self._store.prepare(self._terms.shards, Quarter.at(clock.now()).previous)
            self._prepared = True

    def _claim(self, events: list[Event], request_id: str) -> dict[Identity, Claimed]:
        now = clock.now()
        wanted = [Claim.of(event, now, self._terms) for event in first_of_each(events)]
        claimed = self._store.claim(wanted, request_id)
        return {claim.identity: stands for claim, stands in zip(wanted, claimed, strict=True) if stands}

    def _append_missing(self, content: dict[Identity, Event], claims: dict[Identity, Claimed]) -> dict[Identity, Claim]:
        fresh = [claims[identity].claim for identity in content if claims[identity].fresh]
        known = [claims[identity].claim for identity in content if not claims[identity].fresh]
        found, step = self._look_up(known)
        moved = [new for old in step.move if self._store.move(old, new := old.moved(clock.now(), self._terms))]
        wanted = fresh + step.append + moved
        entries = [(claim.partition.quarter, ledger_values(content[claim.identity], claim)) for claim in wanted]
        appended = self._store.append(entries, self._is_open)
        found += [claim for claim in wanted if claim.key in appended]
        return {claim.identity: claim for claim in found}

    def _look_up(self, known: list[Claim]) -> tuple[list[Claim], NextStep]:
        """Return the known claims whose event stands in the ledger, and what the others need."""
        if not known:
            return [], NextStep([], [], [])
        # The phase is told by the clock before the reading: settled then, nobody can write after it.
        now = clock.now()
        try:
            keys = self._store.standing(known)
        except UnavailableError:
            return [], NextStep([], [], known)
        found = [claim for claim in known if claim.key in keys]
        return found, next_step([claim for claim in known if claim.key not in keys], now, self._terms)

    def _is_open(self, quarter: Quarter) -> bool:
        return self._terms.phase(quarter, clock.now()) is Phase.OPEN
