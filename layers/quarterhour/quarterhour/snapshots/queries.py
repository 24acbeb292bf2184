"""Reading the snapshots: an entity over time, as of an instant, its trend; and all of a kind in one window."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, Final

from quarterhour.aws.entity import LATEST, Range, Values, window_index, window_partitions
from quarterhour.aws.entity_table import EntityReader
from quarterhour.model import money
from quarterhour.model.clock import MILLISECOND, iso_millis, iso_seconds, parse_iso
from quarterhour.model.errors import NotFoundError
from quarterhour.model.instants import rounded_up
from quarterhour.snapshots.keys import change_sk, layer_sk, start_of, window_name, window_start
from quarterhour.snapshots.kind import Figures, Kind
from quarterhour.snapshots.layers import CHANGE, Layer
from quarterhour.web.paging import Page, Paging, within
from quarterhour.web.parameters import among, one_of

_FIRST: Final = ""
_LAST: Final = "9999"
"""What sorts before, and behind, every instant of a layer."""
_FEW: Final = 10


class Layers:
    """The layers that there are, found by name; every search raises ``ValueError`` where there is none so."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._all = {layer.name: layer for layer in layers}
        self._windows = {layer.name: layer for layer in layers if layer.window}
        self.expected = one_of(self._all)
        self.expected_windows = one_of(self._windows)
        self.shortest = min(layers, key=lambda layer: layer.window or timedelta.max)
        """The layer of the shortest windows: the one to look at where none is asked for."""

    def named(self, name: str) -> Layer:
        """Return a layer."""
        return among(self._all, name)

    def with_windows(self, name: str) -> Layer:
        """Return a layer that has windows, as all but that of the single changes have."""
        return among(self._windows, name)

    @property
    def changes(self) -> Layer:
        """The layer of the single changes; raises ``NotFoundError`` where the deployment keeps none."""
        if CHANGE not in self._all:
            raise NotFoundError(f"no single changes are kept here, only {self.expected_windows}")
        return self._all[CHANGE]


def before(layer: Layer, end: datetime) -> str:
    """Return the last sort key at which a state of a window, or a change, before the instant can stand."""
    if layer.window is None:
        return layer_sk(layer, iso_millis(rounded_up(end, MILLISECOND)))
    return window_name(layer, rounded_up(end, layer.window) - layer.window)


def not_before(layer: Layer, start: datetime) -> str:
    """Return the first sort key at which a state of a window, or a change, at or after the instant can stand."""
    if layer.window is None:
        return layer_sk(layer, iso_millis(rounded_up(start, MILLISECOND)))
    return window_name(layer, rounded_up(start, layer.window))


def as_of(layer: Layer, at: datetime) -> str:
    """Return the last sort key of the window that holds the instant, or of a change up to then."""
    return before(layer, at + timedelta(microseconds=1))


def before_latest(layer: Layer, latest: Mapping[str, Any]) -> str:
    """Return the last sort key before that of the latest state's own window, or of its own change."""
    if layer.window is None:
        return change_sk(layer, latest["last_updated"], int(latest["version"]) - 1)
    return before(layer, window_start(parse_iso(latest["last_updated"]), layer.window))


def trend(now: Figures, then: Figures | None, main: str) -> dict[str, Any]:
    """Compare the figures of two states; the trend of the whole is that of the ``main`` one.

    Where there is no state to compare with, what would come of it is ``None``.
    """
    figures = {name: _figure(value, then[name] if then else None) for name, value in now.items()}
    return {"trend": figures[main]["trend"], "figures": figures}


def _figure(now: Decimal | int, then: Decimal | int | None) -> dict[str, Any]:
    if then is None:
        return {"now": _plain(now), "before": None, "change": None, "trend": None}
    change = now - then if isinstance(now, int) else money.add(now, Decimal(then).copy_negate())
    direction = "stable" if not change else "up" if change > 0 else "down"
    return {"now": _plain(now), "before": _plain(then), "change": _plain(change), "trend": direction}


def _plain(value: Decimal | int) -> str | int:
    return money.plain(value) if isinstance(value, Decimal) else value


@dataclass(frozen=True, slots=True)
class SnapshotQueries:
    """What readers ask of the snapshots of one kind of entities, each of them named by its partition key."""

    entities: EntityReader
    kind: Kind

    def span(self, pk: str, layer: Layer, start: datetime, end: datetime, paging: Paging) -> Page:
        """Return the states of the windows (or the changes) that begin from the start to before the end."""
        return self._page(Range(pk, not_before(layer, start), before(layer, end)), layer, paging)

    def last(self, pk: str, layer: Layer, paging: Paging) -> Page:
        """Return the newest states, the newest first."""
        return self._page(Range(pk, layer_sk(layer, _FIRST), layer_sk(layer, _LAST), falling=True), layer, paging)

    def at(self, pk: str, layer: Layer, at: datetime) -> dict[str, Any]:
        """Return the state in the newest window (or of the newest change) at or before the instant."""
        values = self._newest(pk, layer, as_of(layer, at))
        if values is None:
            whose = pk.removeprefix(self.kind.prefix)
            raise NotFoundError(f"of {whose} the layer {layer.name} holds no state at or before {iso_millis(at)}")
        return self._shown(layer, values)

    def trend(self, layer: Layer, latest: Values) -> dict[str, Any]:
        """Compare the latest state of an entity with that of the newest window (or change) before its own."""
        return self.compared(layer, latest, self._newest(latest["pk"], layer, before_latest(layer, latest)))

    def compared(self, layer: Layer, latest: Values, values: Values | None) -> dict[str, Any]:
        """Compare the latest state of an entity with one that the layer keeps, or has kept, of it before."""
        figures = self.kind.figures
        return {
            "layer": layer.name,
            "latest": self.kind.state(latest),
            "before": self._shown(layer, values) if values else None,
            **trend(figures(latest), figures(values) if values else None, self.kind.main),
        }

    def window(self, layer: Layer, at: datetime, paging: Paging) -> dict[str, Any]:
        """Return the window that holds the instant: what changed in it, each in its last state there.

        Raises ``NotFoundError`` where nothing did, or nothing is kept.
        """
        window = as_of(layer, at)
        page = self._listed(window, paging)
        if paging.place is None and not page.items:
            raise NotFoundError(f"the layer {layer.name} holds no state of the window from {start_of(layer, window)}")
        return {"layer": layer.name, "window": start_of(layer, window), **paging.body(page)}

    def latest(self, paging: Paging) -> Page:
        """Return the current state of each entity."""
        return self._listed(LATEST, paging)

    def _listed(self, window: str, paging: Paging) -> Page:
        entries = self._in_window(window, paging.limit + 1, paging.start(self._known, None))
        return paging.cut(entries, self._named, lambda values: values["pk"])

    def _in_window(self, window: str, page: int, after: str | None) -> Iterator[Values]:
        partitions = window_partitions(window)
        key = None if after is None else {**window_index(window, after), "pk": after, "sk": window}
        first, *others = partitions if key is None else partitions[partitions.index(key["gsi1pk"]) :]
        rest = (self.entities.window(one, self.kind.prefix, page, None) for one in others)
        return chain(self.entities.window(first, self.kind.prefix, page, key), *rest)

    def _newest(self, pk: str, layer: Layer, high: str) -> Values | None:
        wanted = Range(pk, layer_sk(layer, _FIRST), high, falling=True)
        return next(self.entities.read(wanted, _FEW), None)

    def _page(self, wanted: Range, layer: Layer, paging: Paging) -> Page:
        after = paging.start(lambda sk: within(wanted.low, sk, wanted.high), None)
        entries = self.entities.read(replace(wanted, after=after), paging.limit + 1)
        return paging.cut(entries, lambda values: self._shown(layer, values), lambda values: values["sk"])

    def _known(self, pk: str) -> str:
        self.kind.names(pk)
        return pk

    def _named(self, values: Values) -> dict[str, Any]:
        return {**self.kind.names(values["pk"]), **self.kind.state(values)}

    def _shown(self, layer: Layer, values: Values) -> dict[str, Any]:
        at = parse_iso(values["last_updated"])
        window = {"window": iso_seconds(window_start(at, layer.window))} if layer.window else {}
        return {"layer": layer.name, **window, **self.kind.state(values)}
