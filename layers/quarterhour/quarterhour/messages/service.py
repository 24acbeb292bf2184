"""Writes messages, each once: a claim fixes the message's instant, then the message is written at that instant.

Removes texts that data protection asks to forget.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quarterhour.messages.keys import MessageKey, claim_hash, claim_key
from quarterhour.messages.message import Message, shown
from quarterhour.messages.requests import RedactRequest
from quarterhour.messages.store import ThreadStore
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from quarterhour.messages import api


@dataclass(frozen=True, slots=True)
class ThreadService:
    """Writes the messages of threads, and removes their texts."""

    store: ThreadStore

    def write(self, message: Message) -> "tuple[api.Message, bool]":
        """Write a message; return it as the API shows it, and whether it is new.

        A retry finds the claim and writes the same item again, so it also completes a write that a crash interrupted.
        Raises ``ConflictError`` if the id was used for another text, or ``UnavailableError``.
        """
        claim = message.claim(clock.now())
        first = self.store.claim(claim)
        if first["digest"] != message.digest:
            raise ConflictError(f"you have sent another text under the id {message.id}: give each message its own id")
        values = message.values(first["at"])
        self.store.put(values)
        return shown(values), first is claim

    def redact(self, request: RedactRequest) -> str:
        """Remove the text of a message; return when. Raises ``NotFoundError`` if there is no such message."""
        at, hash_ = iso_millis(clock.now()), claim_hash(request.thread, request.user, request.id)
        claim = self.store.claimed(claim_key(hash_))
        if claim:
            key = MessageKey.of(request.user, claim["at"], hash_)
            message = {"pk": request.thread.partition(request.user), "sk": key.by_user}
            redacted = {"at": at, "by": request.by, "reason": request.reason}
            if self.store.redact(claim_key(hash_), message, redacted):
                return at
        raise NotFoundError("there is no such message")
