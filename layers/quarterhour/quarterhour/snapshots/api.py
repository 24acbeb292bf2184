"""The responses about windows and trends, as types."""

from typing import Generic, Literal, TypeVar

from typing_extensions import TypedDict

from quarterhour.model.api import Decimal, Instant
from quarterhour.web.api import Page

T = TypeVar("T")
StateT = TypeVar("StateT")
SnapshotT = TypeVar("SnapshotT")
FigureT = TypeVar("FigureT", bound=str)

Direction = Literal["up", "stable", "down"]


class Figure(TypedDict):
    """A figure now and before; null without an earlier state."""

    now: Decimal | int
    before: Decimal | int | None
    change: Decimal | int | None
    trend: Direction | None


class Changes(TypedDict, Generic[FigureT]):
    """The changes of figures, and the trend of the main one: of an account, that of the net."""

    trend: Direction | None
    """The trend of the main figure: of an account, the net."""
    figures: dict[FigureT, Figure]


class Trend(Changes[FigureT], Generic[StateT, SnapshotT, FigureT]):
    """The latest state, compared with that of the previous window or change."""

    layer: str
    latest: StateT
    before: SnapshotT | None


class Window(Page[T], Generic[T]):
    """The accounts or exchange rates that changed in a window, with their states at its end."""

    layer: str
    window: Instant
