"""The responses about windows and trends, as types."""

from typing import Generic, Literal, TypeVar

from typing_extensions import TypedDict

from quarterhour.model.api import Decimal, Instant
from quarterhour.web.api import Page

T = TypeVar("T")

Direction = Literal["up", "stable", "down"]


class Figure(TypedDict):
    """A figure now and before; null without an earlier state."""

    now: Decimal | int
    before: Decimal | int | None
    change: Decimal | int | None
    trend: Direction | None


class Trend(TypedDict):
    """The changes of figures, and the trend of the main one."""

    trend: Direction | None
    figures: dict[str, Figure]


class Window(Page[T], Generic[T]):
    """The accounts or exchange rates that changed in a window, with their states at its end."""

    layer: str
    window: Instant
