"""Reading a thread: pages of its messages, of all users or one, in a period, in both directions."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quarterhour.aws.entity import IndexRange, Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.messages.keys import Thread, bounds_by_time, bounds_by_user
from quarterhour.messages.message import shown
from quarterhour.web.paging import Paging, within, write_token

if TYPE_CHECKING:
    from quarterhour.messages import api

_ON: Final = "on"
_BACK: Final = "back"
_BEGINNING: Final[tuple[bool, str | None]] = False, None


@dataclass(frozen=True, slots=True)
class MessageQuery:
    """A query for messages of a thread: of a user or (``None``) of all, in a period, the oldest or newest first."""

    thread: Thread
    user: str | None
    period: str
    newest_first: bool

    @property
    def order(self) -> str:
        """The attribute by which the messages are ordered."""
        return "gsi1sk" if self.user is None else "sk"

    @property
    def bounds(self) -> tuple[str, str]:
        """The lowest and the highest value of that attribute."""
        return bounds_by_time(self.period) if self.user is None else bounds_by_user(self.user, self.period)


@dataclass(frozen=True, slots=True)
class ThreadQueries:
    """Reads pages of messages."""

    entities: EntityReader

    def messages(self, query: MessageQuery, paging: Paging) -> "api.Messages":
        """Return a page of messages, with the tokens of the next and the previous page."""
        low, high = query.bounds

        def place(direction: str, key: str) -> tuple[bool, str | None]:
            if direction not in {_ON, _BACK}:
                raise ValueError(direction)
            return direction == _BACK, within(low, key, high)

        back, last_key = paging.start(place, _BEGINNING)
        falling = query.newest_first != back
        if last_key is not None:
            low, high = (low, last_key) if falling else (last_key, high)
        messages = self._read(query, low, high, falling, paging.limit + 2)
        others = (message for message in messages if message[query.order] != last_key)
        page, more = paging.take(others, shown, lambda message: str(message[query.order]))
        if back:
            page.reverse()
        follows, precedes = (last_key is not None, more) if back else (more, last_key is not None)
        return {
            "items": [item for _, item in page],
            "next": write_token((_ON, page[-1][0]), paging.request) if page and follows else None,
            "previous": write_token((_BACK, page[0][0]), paging.request) if page and precedes else None,
        }

    def _read(
        self,
        query: MessageQuery,
        low: str,
        high: str,
        falling: bool,  # noqa: FBT001
        page: int,
    ) -> Iterable[Values]:
        if query.user is not None:
            return self.entities.read(Range(query.thread.partition(query.user), low, high, falling), page)
        ranges = [IndexRange("gsi1", partition, low, high, falling) for partition in query.thread.partitions]
        return self.entities.read_indexes(ranges, page)
