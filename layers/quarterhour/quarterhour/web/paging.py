"""Pages of what is read: how many items, where the next page begins, and the opaque token that says so.

A token holds a place in the order of one request's items, and nothing of where to look: partition and bounds always
come from the request itself. So a forged token can, at the worst, pass over items of the same request.
"""

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Protocol, TypeVar

from quarterhour.model import exact_json
from quarterhour.model.errors import FieldProblem, InvalidError

T = TypeVar("T")
Rising = TypeVar("Rising", bound="Ordered")

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 1000
MAX_BYTES: Final = 4 << 20
"""How many bytes the items of a page have, about: Lambda answers 6 MB at the most."""

_SEAL_BYTES: Final = 12
_LARGEST_PLACE: Final = 1024
"""The most bytes that a sort key can have, and so the most that a place needs."""
_BETWEEN: Final = "\n"


class Ordered(Protocol):
    """What comes in an order."""

    def __le__(self, other: Any, /) -> bool:  # noqa: ANN401 - each kind compares with its own
        """Tell whether it comes before the other, or is it."""


@dataclass(frozen=True, slots=True)
class Page:
    """The items of a page, as they are shown, and the place at which the next begins (``None`` after the last).

    A page may be short, or empty, though another follows.
    """

    items: list[dict[str, Any]]
    after: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Paging:
    """The page that is asked for: at most ``limit`` items, from a place on (the beginning where there is none).

    ``request`` is what a token is bound to: the same request's next page has the same.
    """

    limit: int
    request: str
    place: tuple[str, ...] | None = None

    @classmethod
    def of(cls, request: str, limit: int, token: str | None) -> "Paging":
        """Read the token; raise ``InvalidError`` where it is none, or of another request."""
        return cls(limit, request, None if token is None else read_token(token, request))

    def start(self, read: Callable[..., T], otherwise: T) -> T:
        """Return where the page begins, as ``read`` makes it of the place's parts, ``otherwise`` on the first page.

        ``read`` raises ``ValueError`` for what is no place in this request, which becomes an ``InvalidError``.
        """
        if self.place is None:
            return otherwise
        try:
            return read(*self.place)
        except (ValueError, TypeError) as error:
            raise _foreign() from error

    def body(self, page: Page) -> dict[str, Any]:
        """Return the JSON object that shows a page."""
        token = None if page.after is None else write_token(page.after, self.request)
        return {"items": page.items, "next": token}

    def cut(self, entries: Iterable[T], show: Callable[[T], dict[str, Any]], place: Callable[[T], str]) -> Page:
        """Take a page from the entries that come from its beginning on."""
        taken, more = self.take(entries, show, place)
        return Page([item for _, item in taken], (taken[-1][0],) if more else None)

    def take(
        self, entries: Iterable[T], show: Callable[[T], dict[str, Any]], place: Callable[[T], str]
    ) -> tuple[list[tuple[str, dict[str, Any]]], bool]:
        """Return the items of a page, each with its place, and whether another follows: one more is looked at.

        It ends at the limit, or where one more would make it too large for an answer.
        """
        taken: list[tuple[str, dict[str, Any]]] = []
        size = 0
        for entry in entries:
            item = show(entry)
            size += size_of(item)
            if len(taken) == self.limit or (taken and size > MAX_BYTES):
                return taken, True
            taken.append((place(entry), item))
        return taken, False


def request_name(path: str, parameters: Mapping[str, str]) -> str:
    """Return what a token is bound to: the path and all parameters but those that choose the page."""
    bound = sorted((name, value) for name, value in parameters.items() if name not in {"limit", "next"})
    return repr((path, bound))


def write_token(place: tuple[str, ...], request: str) -> str:
    """Write a place as a token: Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(_seal(place, request) + _BETWEEN.join(place).encode()).decode().rstrip("=")


def read_token(token: str, request: str) -> tuple[str, ...]:
    """Read a token's place; raise ``InvalidError`` where it is none that was written for this request."""
    try:
        content = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        place = tuple(content[_SEAL_BYTES:].decode().split(_BETWEEN))
        genuine = len(content) <= _SEAL_BYTES + _LARGEST_PLACE and write_token(place, request) == token
    except ValueError as error:
        raise _foreign() from error
    if not genuine:
        raise _foreign()
    return place


def size_of(item: Mapping[str, Any]) -> int:
    """Return how many bytes an item takes in a function's answer, which holds its JSON as a JSON string."""
    return len(json.dumps(exact_json.write(item), ensure_ascii=False).encode())


def within(low: Rising, value: Rising, high: Rising) -> Rising:
    """Return the value; raise ``ValueError`` where it is not between the two, which are included."""
    if not low <= value <= high:
        raise ValueError(f"{value} is not between {low} and {high}")
    return value


def _seal(place: tuple[str, ...], request: str) -> bytes:
    """Return what binds a place to its request: no secret, as a place can do no harm, but no accident passes it."""
    return sha256(repr((request, place)).encode()).digest()[:_SEAL_BYTES]


def _foreign() -> InvalidError:
    return InvalidError(
        "next: is no token of this request",
        FieldProblem("next", "is no token of this request", "the `next` of the page before, with the same parameters"),
    )
