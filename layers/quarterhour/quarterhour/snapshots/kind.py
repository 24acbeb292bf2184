"""What readers must know of a kind of entity to show its states: accounts, rates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from quarterhour.aws.entity import Values

Figures = Mapping[str, Decimal | int]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entity that has a ``latest`` state.

    ``prefix`` is what the partition keys of all of its entities begin with; ``names`` reads from one of them what the
    entity is called, under the names that are shown, and raises ``ValueError`` where it is none. ``state`` shows a
    state, ``figures`` returns those that a trend compares, and ``main`` is the one whose trend is that of the whole.
    """

    prefix: str
    names: Callable[[str], dict[str, str]]
    state: Callable[[Values], dict[str, Any]]
    figures: Callable[[Values], Figures]
    main: str
