"""The description of a kind of entity that the snapshot queries need: of accounts, of exchange rates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, TypeVar

from quarterhour.aws.entity import LATEST, Values

Figures = Mapping[str, Decimal | int]

StateT_co = TypeVar("StateT_co", bound=Mapping[str, object], covariant=True)
NamedT_co = TypeVar("NamedT_co", bound=Mapping[str, object], covariant=True)
SnapshotT_co = TypeVar("SnapshotT_co", bound=Mapping[str, object], covariant=True)


@dataclass(frozen=True, slots=True)
class EntityKind(Generic[StateT_co, NamedT_co, SnapshotT_co]):
    """A kind of entity that has a ``latest`` state.

    - ``prefix``: the beginning of every partition key of this kind.
    - ``check``: raises ``ValueError`` unless a partition key is one of this kind.
    - ``state``: formats an item's state for the API.
    - ``named``: formats it with the fields that name the entity.
    - ``snapshot``: formats it with the name of its layer, and the start of its window if it has one.
    - ``figures``: returns the figures that a trend compares.
    - ``main``: the name of the figure whose direction is the entity's trend.
    - ``list``: the list of the index that names all entities of this kind: the sort key of the items in it.
    """

    prefix: str
    check: Callable[[str], object]
    state: Callable[[Values], StateT_co]
    named: Callable[[Values], NamedT_co]
    snapshot: Callable[[Values, str, str | None], SnapshotT_co]
    figures: Callable[[Values], Figures]
    main: str
    list: str = LATEST
