"""The description of a kind of entity that the snapshot queries need: of accounts, of exchange rates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from quarterhour.aws.entity import LATEST, Values

Figures = Mapping[str, Decimal | int]


@dataclass(frozen=True, slots=True)
class EntityKind:
    """A kind of entity that has a ``latest`` state.

    - ``prefix``: the beginning of every partition key of this kind.
    - ``names``: parses a partition key into the fields that name the entity; raises ``ValueError`` for another key.
    - ``state``: formats an item's state for the API.
    - ``figures``: returns the figures that a trend compares.
    - ``main``: the name of the figure whose direction is the entity's trend.
    - ``list``: the list of the index that names all entities of this kind: the sort key of the items in it.
    """

    prefix: str
    names: Callable[[str], Mapping[str, Any]]
    state: Callable[[Values], Mapping[str, Any]]
    figures: Callable[[Values], Figures]
    main: str
    list: str = LATEST
