"""Reading a discussion: of all by time, of a user, of a period; both ways, from any page."""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import merge
from typing import Any, Final

from quarterhour.aws.entity import IndexRange, Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.threads.keys import Thread, bounds_by_time, bounds_by_user
from quarterhour.threads.message import shown
from quarterhour.web.paging import Paging, within, write_token

_ON: Final = "on"
_BACK: Final = "back"
_BEGINNING: Final[tuple[bool, str | None]] = False, None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which messages of a thread: of a user or (``None``) of all, of a period, the oldest or the newest first."""

    thread: Thread
    user: str | None
    period: str
    newest_first: bool

    @property
    def order(self) -> str:
        """The attribute in whose order they come."""
        return "gsi1sk" if self.user is None else "sk"

    @property
    def bounds(self) -> tuple[str, str]:
        """Between what they stand in that order."""
        return bounds_by_time(self.period) if self.user is None else bounds_by_user(self.user, self.period)


@dataclass(frozen=True, slots=True)
class ThreadQueries:
    """What readers ask of the discussions."""

    entities: EntityReader

    def messages(self, wanted: Wanted, paging: Paging) -> dict[str, Any]:
        """Return a page of messages, with the tokens of the page that follows and of the one before."""
        low, high = wanted.bounds

        def place(way: str, key: str) -> tuple[bool, str | None]:
            if way not in {_ON, _BACK}:
                raise ValueError(way)
            return way == _BACK, within(low, key, high)

        back, beside = paging.start(place, _BEGINNING)
        falling = wanted.newest_first != back
        if beside is not None:
            low, high = (low, beside) if falling else (beside, high)
        found = (one for one in self._read(wanted, low, high, falling, paging.limit + 2) if one[wanted.order] != beside)
        page, more = paging.take(found, shown, lambda one: str(one[wanted.order]))
        if back:
            page.reverse()
        follows, precedes = (beside is not None, more) if back else (more, beside is not None)
        return {
            "items": [item for _, item in page],
            "next": write_token((_ON, page[-1][0]), paging.request) if page and follows else None,
            "previous": write_token((_BACK, page[0][0]), paging.request) if page and precedes else None,
        }

    def _read(self, wanted: Wanted, low: str, high: str, falling: bool, page: int) -> Iterable[Values]:  # noqa: FBT001
        if wanted.user is not None:
            return self.entities.read(Range(wanted.thread.partition(wanted.user), low, high, falling), page)
        ranges = [IndexRange("gsi1", one, low, high, falling) for one in wanted.thread.partitions]
        return merge(
            *(self.entities.listed(one, page) for one in ranges),
            key=lambda one: str(one[wanted.order]),
            reverse=falling,
        )
