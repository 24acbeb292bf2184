"""Writing messages, each once: a claim fixes the message's instant, then the message is written at that instant."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quarterhour.messages.message import Message, shown
from quarterhour.messages.store import ThreadStore
from quarterhour.model import clock
from quarterhour.model.errors import ConflictError

if TYPE_CHECKING:
    from quarterhour.messages import api


@dataclass(frozen=True, slots=True)
class ThreadService:
    """Writes the messages of threads."""

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
