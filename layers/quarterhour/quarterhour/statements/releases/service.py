"""Decides about drafts: releases, holds, cancellations."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Self

from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import attempts
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.registry.settings.settings import Settings
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.releases.checks import Check, failed
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.decisions import Decider, planned_decision
from quarterhour.statements.releases.requests import DraftRequest
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.web.access import Caller


@dataclass(frozen=True, slots=True)
class ReleaseService:
    """Decides about drafts; the settings say whether a second person must agree to releases and cancellations.

    Of two decisions at once, one is planned again. Every request may be repeated.
    """

    store: ReleaseStore
    contexts: DraftContexts
    settings: Callable[[], Settings]

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the service of a function."""
        store = ReleaseStore(resources.dynamodb, resources.entity_table, resources.workers)
        return cls(store, DraftContexts.of(resources), SettingsReader.of(resources).settings)

    def decide(self, period: Period, account: Account, request: DraftRequest, caller: Caller) -> DraftItem:
        """Decide about a draft; return it.

        Raises ``NotFoundError`` if there is no such draft, ``ConflictError`` if it does not allow the decision.
        """
        for _ in attempts():
            draft = self.store.draft(period, account)
            now = clock.now()
            decided = planned_decision(
                draft,
                request,
                Decider(caller.name, iso_millis(now), self.settings().needs_two),
                partial(self._failed, draft, now),
            )
            if decided is None:
                return draft
            if self.store.decide(decided, len(draft.decisions)):
                return decided
        raise UnavailableError(f"others kept deciding about the draft of {account} for {period}: try again")

    def _failed(self, draft: DraftItem, now: datetime) -> list[Check]:
        (context,) = self.contexts.gather([draft], now, counted=False)
        return failed(draft, context)
