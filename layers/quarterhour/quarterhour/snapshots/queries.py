"""Queries of snapshots: an entity over time, as of an instant, its trend; and all entities of a window."""

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
from quarterhour.snapshots.kind import EntityKind, Figures
from quarterhour.snapshots.layers import CHANGE, Layer
from quarterhour.web.paging import Page, Paging, within
from quarterhour.web.parameters import among, one_of

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
        """The layer of single changes; raises ``NotFoundError`` if it is not deployed."""
        if CHANGE not in self._all:
            raise NotFoundError(f"single changes are not kept, only {', '.join(self._windows)}")
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


def trend(now: Figures, then: Figures | None, main: str) -> dict[str, Any]:
    """Return the changes between the figures of two states; the overall trend is that of the figure ``main``.

    Without an earlier state, the earlier figures, the changes and the trends are ``None``.
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
    """Queries of the snapshots of one kind of entity; ``pk`` is the partition key of an entity."""

    entities: EntityReader
    kind: EntityKind

    def span(self, pk: str, layer: Layer, start: datetime, end: datetime, paging: Paging) -> Page:
        """Return the states of the windows or changes from ``start`` (inclusive) to ``end`` (exclusive)."""
        return self._page(Range(pk, not_before(layer, start), before(layer, end)), layer, paging)

    def last(self, pk: str, layer: Layer, paging: Paging) -> Page:
        """Return the newest states, newest first."""
        return self._page(Range(pk, layer_sk(layer, _FIRST), layer_sk(layer, _LAST), descending=True), layer, paging)

    def at(self, pk: str, layer: Layer, at: datetime) -> dict[str, Any]:
        """Return the state of the newest window or change at or before the instant.

        Raises ``NotFoundError`` if there is none.
        """
        values = self._newest(pk, layer, as_of(layer, at))
        if values is None:
            entity = pk.removeprefix(self.kind.prefix)
            raise NotFoundError(f"layer {layer.name} holds no state of {entity} at or before {iso_millis(at)}")
        return self._shown(layer, values)

    def trend(self, layer: Layer, latest: Values) -> dict[str, Any]:
        """Return the comparison of an entity's latest state with its state of the previous window or change."""
        return self.compared(layer, latest, self._newest(latest["pk"], layer, before_latest(layer, latest)))

    def compared(self, layer: Layer, latest: Values, values: Values | None) -> dict[str, Any]:
        """Return the comparison of an entity's latest state with an earlier one, or with ``None``."""
        figures = self.kind.figures
        return {
            "layer": layer.name,
            "latest": self.kind.state(latest),
            "before": self._shown(layer, values) if values else None,
            **trend(figures(latest), figures(values) if values else None, self.kind.main),
        }

    def window(self, layer: Layer, at: datetime, paging: Paging) -> dict[str, Any]:
        """Return the window that contains the instant: the entities that changed in it, in their last states there.

        Raises ``NotFoundError`` if the window holds no state.
        """
        window = as_of(layer, at)
        page = self._listed(window, paging)
        if paging.place is None and not page.items:
            raise NotFoundError(f"layer {layer.name} holds no state of the window from {start_of(layer, window)}")
        return {"layer": layer.name, "window": start_of(layer, window), **paging.body(page)}

    def latest(self, paging: Paging) -> Page:
        """Return the current state of each entity."""
        return self._listed(LATEST, paging)

    def _listed(self, window: str, paging: Paging) -> Page:
        entries = self._in_window(window, paging.limit + 1, paging.start(self._known, None))
        return paging.cut(entries, self._named, lambda values: values["pk"])

    def _in_window(self, window: str, page_size: int, after: str | None) -> Iterator[Values]:
        partitions = window_partitions(window)
        key = None if after is None else {**window_index(window, after), "pk": after, "sk": window}
        first, *others = partitions if key is None else partitions[partitions.index(key["gsi1pk"]) :]
        rest = (self.entities.read_window(one, self.kind.prefix, page_size, None) for one in others)
        return chain(self.entities.read_window(first, self.kind.prefix, page_size, key), *rest)

    def _newest(self, pk: str, layer: Layer, high: str) -> Values | None:
        up_to = Range(pk, layer_sk(layer, _FIRST), high, descending=True)
        return next(self.entities.read(up_to, _FEW), None)

    def _page(self, key_range: Range, layer: Layer, paging: Paging) -> Page:
        after = paging.start(lambda sk: within(key_range.low, sk, key_range.high), None)
        entries = self.entities.read(replace(key_range, after=after), paging.limit + 1)
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
