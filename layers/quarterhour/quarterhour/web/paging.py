"""Pages of a listing, and the opaque tokens from which the next page starts.

A token holds only a place in the order of the request's items. The partition and the bounds always come from the
request. So a forged token can at worst skip items of the same request.
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from quarterhour.model import exact_json
from quarterhour.model.errors import FieldProblem, InvalidError

if TYPE_CHECKING:
    from quarterhour.web import api

T = TypeVar("T")
ItemT = TypeVar("ItemT", bound=Mapping[str, object])
OrderedT = TypeVar("OrderedT", bound="Ordered")

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 1000
MAX_BYTES: Final = 4 << 20
"""The approximate maximum size of a page's items: a Lambda response has at most 6 MB."""
RESERVE_SECONDS: Final = 8.0
"""With less time left than this, a page ends though it is not full."""

_CHECKSUM_BYTES: Final = 12
_LARGEST_PLACE: Final = 1024
"""The maximum size of a place in bytes, which is the maximum size of a sort key."""
_SEPARATOR: Final = "\n"


class Ordered(Protocol):
    """A type whose values are ordered."""

    def __le__(self, other: Any, /) -> bool:  # noqa: ANN401 - each kind compares with its own
        """Return whether this value is before the other one, or equal."""


@dataclass(frozen=True, slots=True)
class Page(Generic[ItemT]):
    """The items of a page as the API shows them, and the place after which the next page starts.

    ``after`` is ``None`` on the last page. A page can have fewer items than the limit, or none, though another follows.
    """

    items: list[ItemT]
    after: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Paging:
    """The requested page: at most ``limit`` items after a place, or from the beginning without a place.

    ``request`` is the name to which a token is bound; all pages of a request share it (see ``request_name``).
    """

    limit: int
    request: str
    place: tuple[str, ...] | None = None

    @classmethod
    def of(cls, request: str, limit: int, token: str | None) -> "Paging":
        """Parse the token, if any; raise ``InvalidError`` unless it is a token of this request."""
        return cls(limit, request, None if token is None else read_token(token, request))

    def start(self, read: Callable[..., T], default: T) -> T:
        """Return the start of the page, which ``read`` makes of the place's parts; ``default`` on the first page.

        ``read`` raises ``ValueError`` for a place outside the request; that becomes an ``InvalidError``.
        """
        if self.place is None:
            return default
        try:
            return read(*self.place)
        except (ValueError, TypeError) as error:
            raise _not_of_this_request() from error

    def body(self, page: Page[ItemT]) -> "api.Page[ItemT]":
        """Return the JSON object of a page: ``items``, and ``next`` with the token."""
        token = None if page.after is None else write_token(page.after, self.request)
        return {"items": page.items, "next": token}

    def cut(self, entries: Iterable[T], show: Callable[[T], ItemT], place: Callable[[T], str]) -> Page[ItemT]:
        """Return the page that begins with the first of the entries."""
        taken, more = self.take(entries, show, place)
        return Page([item for _, item in taken], (taken[-1][0],) if more else None)

    def cut_in_time(
        self,
        entries: Iterable[tuple[str, T | None]],
        show: Callable[[T], ItemT],
        remaining_seconds: Callable[[], float],
    ) -> Page[ItemT]:
        """Return the page that begins with the first of the entries that are not ``None``; each has its place.

        The page ends at the entry at which fewer than ``RESERVE_SECONDS`` remain, even if it is not full.
        """
        last: list[str] = []

        def shown() -> Iterator[tuple[str, T]]:
            for place, entry in entries:
                if entry is not None:
                    yield place, entry
                if remaining_seconds() < RESERVE_SECONDS:
                    last.append(place)
                    return

        page = self.cut(shown(), lambda one: show(one[1]), itemgetter(0))
        return Page(page.items, (last[0],)) if last and page.after is None else page

    def take(
        self, entries: Iterable[T], show: Callable[[T], ItemT], place: Callable[[T], str]
    ) -> tuple[list[tuple[str, ItemT]], bool]:
        """Return the items of a page, each with its place, and whether another page follows.

        The page ends at the limit, or before the item that would make the response too large. At most one entry more
        than the limit is consumed.
        """
        taken: list[tuple[str, ItemT]] = []
        size = 0
        for entry in entries:
            item = show(entry)
            size += size_of(item)
            if len(taken) == self.limit or (taken and size > MAX_BYTES):
                return taken, True
            taken.append((place(entry), item))
        return taken, False


def request_name(path: str, parameters: Mapping[str, str]) -> str:
    """Return the name of a request to which its tokens are bound: its path and its parameters without paging."""
    bound = sorted((name, value) for name, value in parameters.items() if name not in {"limit", "next"})
    return repr((path, bound))


def write_token(place: tuple[str, ...], request: str) -> str:
    """Return the token of a place: URL-safe Base64 without padding."""
    return base64.urlsafe_b64encode(_checksum(place, request) + _SEPARATOR.join(place).encode()).decode().rstrip("=")


def read_token(token: str, request: str) -> tuple[str, ...]:
    """Return the place in a token; raise ``InvalidError`` unless the token was made for this request."""
    try:
        content = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        place = tuple(content[_CHECKSUM_BYTES:].decode().split(_SEPARATOR))
        genuine = len(content) <= _CHECKSUM_BYTES + _LARGEST_PLACE and write_token(place, request) == token
    except ValueError as error:
        raise _not_of_this_request() from error
    if not genuine:
        raise _not_of_this_request()
    return place


def size_of(item: Mapping[str, object]) -> int:
    """Return the size in bytes of an item in a function's response, which holds the body as a JSON string."""
    return len(json.dumps(exact_json.write(item), ensure_ascii=False).encode())


def within(low: OrderedT, value: OrderedT, high: OrderedT) -> OrderedT:
    """Return the value; raise ``ValueError`` unless it is between the bounds, both inclusive."""
    if not low <= value <= high:
        raise ValueError(f"{value} is not between {low} and {high}")
    return value


def _checksum(place: tuple[str, ...], request: str) -> bytes:
    """Return the checksum of a place and its request; it detects mistakes and is not a secret."""
    return sha256(repr((request, place)).encode()).digest()[:_CHECKSUM_BYTES]


def _not_of_this_request() -> InvalidError:
    return InvalidError(
        "next: is not a token of this request",
        FieldProblem(
            "next", "is not a token of this request", "the `next` of the page before, with the same parameters"
        ),
    )
