"""Queries of snapshots: an entity over time, as of an instant, its trend; and all entities of a window.

The windows that an entity has left are stored. Its ``latest`` item is the state of the one that it has not left, in
each layer, and expires like a stored state. It is read first: in the meantime the entity can leave the window, and then
the stored state is found.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Generic

from quarterhour.aws.entity import LATEST, Range, Values, is_live
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.tables import BATCH_GET
from quarterhour.model import clock, money
from quarterhour.model.clock import MILLISECOND, iso_millis, iso_seconds, parse_iso
from quarterhour.model.errors import NotFoundError
from quarterhour.model.instants import rounded_up
from quarterhour.snapshots.keys import (
    change_sk,
    layer_sk,
    start_of,
    window_index,
    window_name,
    window_partitions,
    window_start,
)
from quarterhour.snapshots.kind import EntityKind, Figures, NamedT_co, SnapshotT_co, StateT_co
from quarterhour.snapshots.layers import CHANGE, Layer
from quarterhour.snapshots.plan import NOT_A_STATE, state_in
from quarterhour.web.paging import Page, Paging, within
from quarterhour.web.parameters import among, one_of

if TYPE_CHECKING:
    from quarterhour.snapshots import api

_FIRST: Final = ""
_LAST: Final = "9999"
"""Texts that sort before, and after, every instant."""
_FEW: Final = 10


class Layers:
    """The deployed layers by name; the methods raise ``ValueError`` for an unknown name."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._all = {layer.name: layer for layer in layers}
        self._windows = {layer.name: layer for layer in layers if layer.window}
        self.expected = one_of(self._all)
        self.expected_windows = one_of(self._windows)
        self.shortest = min(layers, key=lambda layer: layer.window or timedelta.max)
        """The layer with the shortest windows, which is the default of a request without a layer."""

    def named(self, name: str) -> Layer:
        """Return the layer of that name."""
        return among(self._all, name)

    def with_windows(self, name: str) -> Layer:
        """Return the layer of that name, which must have windows; the layer of single changes has none."""
        return among(self._windows, name)

    @property
    def changes(self) -> Layer:
        """The layer of single changes."""
        return self._all[CHANGE]


def before(layer: Layer, end: datetime) -> str:
    """Return the highest sort key of a window that starts, or a change that happened, before the instant."""
    if layer.window is None:
        return layer_sk(layer, iso_millis(rounded_up(end, MILLISECOND)))
    return window_name(layer, rounded_up(end, layer.window) - layer.window)


def not_before(layer: Layer, start: datetime) -> str:
    """Return the lowest sort key of a window that starts, or a change that happened, at or after the instant."""
    if layer.window is None:
        return layer_sk(layer, iso_millis(rounded_up(start, MILLISECOND)))
    return window_name(layer, rounded_up(start, layer.window))


def as_of(layer: Layer, at: datetime) -> str:
    """Return the highest sort key of a window that starts, or a change that happened, at or before the instant."""
    return before(layer, at + timedelta(microseconds=1))


def before_latest(layer: Layer, latest: Mapping[str, Any]) -> str:
    """Return the highest sort key before the latest state's window or change."""
    if layer.window is None:
        return change_sk(layer, latest["last_updated"], int(latest["version"]) - 1)
    return before(layer, window_start(parse_iso(latest["last_updated"]), layer.window))


def trend(now: Figures, then: Figures | None, main: str) -> "api.Changes[str]":
    """Return the changes between the figures of two states; the overall trend is that of the figure ``main``.

    Without an earlier state, the earlier figures, the changes and the trends are ``None``.
    """
    figures = {name: _figure(value, then[name] if then else None) for name, value in now.items()}
    return {"trend": figures[main]["trend"], "figures": figures}


def _figure(now: Decimal | int, then: Decimal | int | None) -> "api.Figure":
    if then is None:
        return {"now": _plain(now), "before": None, "change": None, "trend": None}
    change = now - then if isinstance(now, int) else money.add(now, Decimal(then).copy_negate())
    direction: api.Direction = "stable" if not change else "up" if change > 0 else "down"
    return {"now": _plain(now), "before": _plain(then), "change": _plain(change), "trend": direction}


def _plain(value: Decimal | int) -> str | int:
    return money.plain(value) if isinstance(value, Decimal) else value


Entry = tuple[str, Values | None]
"""A sort key or an entity, and its state if it has one."""


def newest_of_each(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield each name of a sorted sequence once, with the state of the highest version."""
    for name, same in groupby(entries, itemgetter(0)):
        yield name, max((state for _, state in same if state), key=itemgetter("version"), default=None)


IndexPlace = tuple[str, Mapping[str, str] | None]
"""A partition of the index, and the key after which to start."""


def _places(window: str, after: str | None) -> list[IndexPlace]:
    """Return the index partitions of a window or a list, from that of an entity on."""
    partitions = window_partitions(window)
    if after is None:
        return [(partition, None) for partition in partitions]
    key = {**window_index(window, after), "pk": after, "sk": window}
    first, *others = partitions[partitions.index(key["gsi1pk"]) :]
    return [(first, key), *((partition, None) for partition in others)]


@dataclass(frozen=True, slots=True)
class SnapshotQueries(Generic[StateT_co, NamedT_co, SnapshotT_co]):
    """Queries of the snapshots of one kind of entity; ``pk`` is the partition key of an entity."""

    entities: EntityReader
    kind: EntityKind[StateT_co, NamedT_co, SnapshotT_co]

    def span(self, pk: str, layer: Layer, start: datetime, end: datetime, paging: Paging) -> Page[SnapshotT_co]:
        """Return the states of the windows or changes from ``start`` (inclusive) to ``end`` (exclusive)."""
        return self._page(Range(pk, not_before(layer, start), before(layer, end)), layer, paging)

    def last(self, pk: str, layer: Layer, paging: Paging) -> Page[SnapshotT_co]:
        """Return the newest states, newest first."""
        return self._page(Range(pk, layer_sk(layer, _FIRST), layer_sk(layer, _LAST), descending=True), layer, paging)

    def at(self, pk: str, layer: Layer, at: datetime) -> SnapshotT_co:
        """Return the state of the newest window or change at or before the instant.

        Raises ``NotFoundError`` if there is none.
        """
        up_to = Range(pk, layer_sk(layer, _FIRST), as_of(layer, at), descending=True)
        values = next(self._states(up_to, layer, _FEW), None)
        if values is None:
            entity = pk.removeprefix(self.kind.prefix)
            raise NotFoundError(f"layer {layer.name} holds no state of {entity} at or before {iso_millis(at)}")
        return self._shown(layer, values)

    def trend(self, layer: Layer, latest: Values) -> "api.Trend[StateT_co, SnapshotT_co, str]":
        """Return the comparison of an entity's latest state with its state of the previous window or change."""
        earlier = Range(latest["pk"], layer_sk(layer, _FIRST), before_latest(layer, latest), descending=True)
        return self.compared(layer, latest, next(self.entities.read(earlier, _FEW), None))

    def compared(
        self, layer: Layer, latest: Values, values: Values | None
    ) -> "api.Trend[StateT_co, SnapshotT_co, str]":
        """Return the comparison of an entity's latest state with an earlier one, or with ``None``."""
        figures = self.kind.figures
        return {
            "layer": layer.name,
            "latest": self.kind.state(latest),
            "before": self._shown(layer, values) if values else None,
            **trend(figures(latest), figures(values) if values else None, self.kind.main),
        }

    def window(
        self, layer: Layer, at: datetime, paging: Paging, remaining_seconds: Callable[[], float]
    ) -> "api.Window[NamedT_co]":
        """Return the window that contains the instant: the entities that changed in it, in their last states there.

        A page is short although another follows only if the time runs short. Raises ``NotFoundError`` if the window
        holds no state.
        """
        window = as_of(layer, at)
        page = paging.cut_in_time(self._in_window(layer, window, paging), self.kind.named, remaining_seconds)
        if paging.place is None and page == Page([]):
            raise NotFoundError(f"layer {layer.name} holds no state of the window from {start_of(layer, window)}")
        return {"layer": layer.name, "window": start_of(layer, window), **paging.body(page)}

    def latest(self, paging: Paging) -> Page[NamedT_co]:
        """Return the current state of each entity."""
        places = _places(LATEST, paging.start(self._known, None))
        entries = (values for place in places for values in self._entries(*place, paging.limit + 1))
        return paging.cut(entries, self.kind.named, itemgetter("pk"))

    def _in_window(self, layer: Layer, window: str, paging: Paging) -> Iterator[Entry]:
        """Yield all entities after the place of a page, each with its state in a window if it has one."""
        after = paging.start(self._known, None)
        for listed, stored in zip(_places(self.kind.list, after), _places(window, after), strict=True):
            latest = self._latest_in(layer, window, map(itemgetter("pk"), self._entries(*listed, BATCH_GET)))
            states = ((values["pk"], values) for values in self._entries(*stored, paging.limit + 1))
            yield from newest_of_each(merge(latest, states, key=itemgetter(0)))

    def _latest_in(self, layer: Layer, window: str, entities: Iterator[str]) -> Iterator[Entry]:
        """Yield entities, each with its latest state if that is in a window."""
        while keys := [{"pk": pk, "sk": LATEST} for pk in islice(entities, BATCH_GET)]:
            states = (self._current(layer, values) for values in self.entities.get_many(keys))
            found = {one["pk"]: one for one in states if one and one["sk"] == window}
            yield from ((key["pk"], found.get(key["pk"])) for key in keys)

    def _entries(self, partition: str, after: Mapping[str, str] | None, page_size: int) -> Iterator[Values]:
        """Yield the entities of an index partition; the first page is read when the first entity is consumed."""
        yield from self.entities.read_window(partition, self.kind.prefix, page_size, after)

    def _states(self, key_range: Range, layer: Layer, page_size: int) -> Iterator[Values]:
        """Return the states of an entity in a range, in its order: those stored, and the latest if it is in there."""
        latest = self.entities.get({"pk": key_range.pk, "sk": LATEST})
        current = self._current(layer, latest) if latest else None
        own = [(current["sk"], current)] if current and key_range.holds(current["sk"]) else []
        stored = ((values["sk"], values) for values in self.entities.read(key_range, page_size))
        entries = newest_of_each(merge(own, stored, key=itemgetter(0), reverse=key_range.descending))
        return (values for _, values in entries if values)

    def _current(self, layer: Layer, latest: Values) -> Values | None:
        """Return the state of a ``latest`` item as a layer would keep it; ``None`` if it has expired, or holds none."""
        try:
            state = state_in(layer, latest)
        except NOT_A_STATE:
            return None
        return state if is_live(state, clock.now()) else None

    def _page(self, key_range: Range, layer: Layer, paging: Paging) -> Page[SnapshotT_co]:
        after = paging.start(lambda sk: within(key_range.low, sk, key_range.high), None)
        entries = self._states(replace(key_range, after=after), layer, paging.limit + 1)
        return paging.cut(entries, lambda values: self._shown(layer, values), itemgetter("sk"))

    def _known(self, pk: str) -> str:
        self.kind.check(pk)
        return pk

    def _shown(self, layer: Layer, values: Values) -> SnapshotT_co:
        at = parse_iso(values["last_updated"])
        window = iso_seconds(window_start(at, layer.window)) if layer.window else None
        return self.kind.snapshot(values, layer.name, window)
