"""Snapshots that are written on leaving a window answer what 0.2.0 answers, which wrote every state into its window."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import LATEST, Key, Range, Values, is_live, window_index
from quarterhour.aws.items import from_item, to_item
from quarterhour.counters.queries import ACCOUNT_STATES
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock, iso_millis, iso_seconds, using
from quarterhour.model.errors import NotFoundError
from quarterhour.registry.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES
from quarterhour.snapshots.kind import EntityKind
from quarterhour.snapshots.layers import Layer, parse_layers
from quarterhour.snapshots.plan import snapshots, state_in
from quarterhour.snapshots.queries import SnapshotQueries
from quarterhour.web.paging import Page, Paging
from tests.support.builders import change_record

if TYPE_CHECKING:
    from quarterhour.aws.entity_table import EntityReader

START = datetime(2026, 10, 23, 22, 58, tzinfo=UTC)
LAYERS = parse_layers("change=1h,5m=24h,1h=31d")
ACCOUNTS = ("ACCOUNT#42#GBP", "ACCOUNT#42#EUR", "ACCOUNT#7#GBP", "ACCOUNT#Café#GBP")
RATE = "RATE#GBP"
KINDS = {**dict.fromkeys(ACCOUNTS, ACCOUNT_STATES), RATE: EXCHANGE_RATE_STATES}
HOURS = timedelta(hours=1)


def state(pk: str, version: int, at: datetime) -> dict[str, Any]:
    """Return the state of an entity after so many changes, without keys."""
    common = {"version": version, "last_updated": iso_millis(at)}
    if pk == RATE:
        return {"units_per_base": f"0.{version}", "source": "ECB", "base": "EUR", **common}
    return {"events": 2 * version, "gross": f"{version}.00", "refunds": "0", "commission": "0.5", **common}


def latest(pk: str, version: int, at: datetime) -> dict[str, Any]:
    """Return the ``latest`` item, with what its writer needs beside the state."""
    working = {"open": {"2026-10-23": {"events": 1}}, "watermarks": {"00": "7"}, "schema": 3}
    return {"pk": pk, "sk": LATEST, **state(pk, version, at), **working, **window_index(LATEST, pk)}


# ---------------------------------------------------------------- what 0.2.0 kept, and what it answered


def window_of(layer: Layer, at: datetime, version: int) -> tuple[datetime, int]:
    """Return the place of a state in a layer: the start of its window, or the instant and number of its change."""
    if layer.window is None:
        return at, version
    return datetime.fromtimestamp(at.timestamp() // layer.window.total_seconds() * layer.window.total_seconds(), UTC), 0


@dataclass
class Released:
    """One state in each window of each layer, the last one in it, until its time is over."""

    kept: dict[tuple[str, str], dict[tuple[datetime, int], dict[str, Any]]] = field(default_factory=dict)

    def change(self, pk: str, version: int, at: datetime) -> None:
        for layer in LAYERS:
            windows = self.kept.setdefault((layer.name, pk), {})
            place = window_of(layer, at, version)
            if place not in windows or windows[place]["version"] < version:
                windows[place] = state(pk, version, at)

    def of(self, layer: Layer, pk: str) -> list[tuple[datetime, int]]:
        """Return the places that an entity has in a layer and that have not expired, in their order."""
        live_after = clock.now() - layer.retention - (layer.window or timedelta())
        # An item expires in the second of its instant.
        places = self.kept.get((layer.name, pk), {})
        return sorted(one for one in places if one[0].replace(microsecond=0) > live_after)

    def shown(self, layer: Layer, pk: str, place: tuple[datetime, int]) -> dict[str, Any]:
        window = {"window": iso_seconds(place[0])} if layer.window else {}
        return {"layer": layer.name, **window, **KINDS[pk].state(self.kept[layer.name, pk][place])}

    def entities(self, layer: Layer, start: datetime) -> list[str]:
        """Return the entities of a window in the order of its index."""
        found = [pk for pk in KINDS if (start, 0) in self.of(layer, pk)]
        return sorted(found, key=lambda pk: (sha256(pk.encode()).digest()[0] % 4, pk))


def name(layer: Layer, place: tuple[datetime, int]) -> str:
    at, version = place
    return f"{layer.name}#{iso_seconds(at)}" if layer.window else f"{layer.name}#{iso_millis(at)}#{version:012d}"


# ---------------------------------------------------------------- what is kept now


class Table:
    """The Entity table in memory, read as ``EntityReader`` reads it; an entry of ``latest`` shows nothing but keys."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Values] = {}

    def put(self, values: Mapping[str, Any]) -> None:
        """Write a snapshot, unless a newer one exists."""
        place = values["pk"], values["sk"]
        if place not in self.items or self.items[place]["version"] < values["version"]:
            self.items[place] = dict(values)

    def delete_expired(self) -> None:
        self.items = {place: one for place, one in self.items.items() if is_live(one, clock.now())}

    def get(self, key: Key) -> Values | None:
        return self.items.get((key["pk"], key["sk"]))

    def get_many(self, keys: Sequence[Key]) -> list[Values]:
        return [one for key in reversed(keys) if (one := self.get(key))]

    def read(self, key_range: Range, _page_size: int) -> Iterator[Values]:
        found = [one for (pk, sk), one in self.items.items() if pk == key_range.pk and key_range.holds(sk)]
        found.sort(key=lambda one: str(one["sk"]), reverse=key_range.descending)
        return (one for one in found if is_live(one, clock.now()))

    def read_window(
        self, partition: str, prefix: str, _page_size: int, after: Mapping[str, str] | None
    ) -> Iterator[Values]:
        found = [one for one in self.items.values() if one.get("gsi1pk") == partition and one["pk"].startswith(prefix)]
        found = [one for one in found if after is None or one["pk"] > after["pk"]]
        found.sort(key=lambda one: str(one["pk"]))
        live = (one for one in found if is_live(one, clock.now()))
        return ({"pk": one["pk"]} if one["sk"] == LATEST else one for one in live)

    def queries(self, kind: EntityKind) -> SnapshotQueries:
        return SnapshotQueries(cast("EntityReader", self), kind)


# ---------------------------------------------------------------- both, side by side


@dataclass
class Both:
    """The same changes, as 0.2.0 kept them and as they are kept now."""

    released: Released = field(default_factory=Released)
    table: Table = field(default_factory=Table)
    records: list[dict[str, Any]] = field(default_factory=list)

    def change(self, pk: str, lag: timedelta) -> dict[str, Any]:
        """Change an entity, now or with a lag, but not before its last change; return the stream record."""
        before = self.table.get({"pk": pk, "sk": LATEST})
        version = int(before["version"]) + 1 if before else 1
        at = clock.now() - lag
        if before:
            at = max(at, datetime.fromisoformat(before["last_updated"]))
        now = latest(pk, version, at)
        self.table.items[pk, LATEST] = from_item(to_item(now))
        self.released.change(pk, version, at)
        old = {**to_item(before), "packed": {"B": "AAA="}} if before else None
        change = change_record(len(self.records), old, to_item(now))
        self.records.append(change)
        return change

    def write(self, batch: Sequence[dict[str, Any]]) -> None:
        found, poison = snapshots(batch, LAYERS, clock.now())
        assert not poison
        for one in found:
            self.table.put(one.values)

    def write_as_released(self, batch: Sequence[dict[str, Any]]) -> None:
        """Write the state after each change into its windows, as 0.2.0 did."""
        for one in batch:
            for layer in LAYERS:
                self.table.put(state_in(layer, from_item(one["dynamodb"]["NewImage"])))

    def assert_same_answers(self, limit: int, spans: Sequence[tuple[datetime, datetime]]) -> None:
        for pk in KINDS:
            for layer in LAYERS:
                self._assert_same(layer, pk, limit, spans)
        for layer in LAYERS[1:]:
            for at in {at for span in spans for at in span}:
                self._assert_same_window(layer, at, limit)

    def _assert_same(self, layer: Layer, pk: str, limit: int, spans: Sequence[tuple[datetime, datetime]]) -> None:
        queries, places = self.table.queries(KINDS[pk]), self.released.of(layer, pk)
        shown = {name(layer, one): self.released.shown(layer, pk, one) for one in places}
        assert_same_pages(lambda paging: queries.last(pk, layer, paging), limit, list(shown.items())[::-1])
        for start, end in spans:
            inside = [name(layer, one) for one in places if start <= one[0] < end]
            expected = [(one, shown[one]) for one in inside]
            read = lambda paging, start=start, end=end: queries.span(pk, layer, start, end, paging)  # noqa: E731
            assert_same_pages(read, limit, expected)
            up_to = [one for one in places if one[0] <= start]
            assert found(lambda start=start: queries.at(pk, layer, start)) == (  # type: ignore[misc]
                shown[name(layer, up_to[-1])] if up_to else None
            )
        item = self.table.get({"pk": pk, "sk": LATEST})
        if item:
            own = window_of(layer, datetime.fromisoformat(item["last_updated"]), int(item["version"]))
            earlier = [name(layer, one) for one in places if one < own]
            assert queries.trend(layer, item)["before"] == (shown[earlier[-1]] if earlier else None)

    def _assert_same_window(self, layer: Layer, at: datetime, limit: int) -> None:
        start, _ = window_of(layer, at, 0)
        for kind in (ACCOUNT_STATES, EXCHANGE_RATE_STATES):
            queries = self.table.queries(kind)
            expected = [
                (pk, {**kind.names(pk), **kind.state(self.released.kept[layer.name, pk][start, 0])})
                for pk in self.released.entities(layer, start)
                if KINDS[pk] is kind
            ]

            def read(paging: Paging, queries: SnapshotQueries = queries) -> Page:
                body = queries.window(layer, at, paging, lambda: 30.0)
                assert body["window"] == iso_seconds(start)
                after = None if body["next"] is None else Paging.of("request", 1, body["next"]).place
                return Page(body["items"], after)

            if expected:
                assert_same_pages(read, limit, expected)
            else:
                assert found(lambda read=read: read(Paging(limit, "request"))) is None  # type: ignore[misc]


def found(read: Callable[[], object]) -> object:
    try:
        return read()
    except NotFoundError:
        return None


def assert_same_pages(read: Callable[[Paging], Page], limit: int, expected: list[tuple[str, dict[str, Any]]]) -> None:
    """Assert that the pages hold these items, each with its place, and that only another page has a token."""
    for first in range(0, max(1, len(expected)), limit):
        place = (expected[first - 1][0],) if first else None
        items, more = expected[first : first + limit], len(expected) > first + limit
        assert read(Paging(limit, "request", place)) == Page(
            [item for _, item in items], (items[-1][0],) if more else None
        )


pauses = st.one_of(
    st.integers(0, 7 * 60_000).map(lambda ms: timedelta(milliseconds=ms)),
    st.sampled_from([timedelta(0), 55 * timedelta(minutes=1), HOURS, 24 * HOURS, 25 * HOURS, timedelta(days=31)]),
)
lags = st.one_of(st.just(timedelta(0)), st.sampled_from([timedelta(minutes=4), 3 * HOURS, timedelta(days=40)]))
changes = st.tuples(st.sampled_from([ACCOUNTS[0], *KINDS]), pauses, lags)


@given(steps=st.lists(st.lists(changes, min_size=1, max_size=5), min_size=1, max_size=5), data=st.data())
def test_all_answers_are_those_of_0_2_0(
    steps: list[list[tuple[str, timedelta, timedelta]]], data: st.DataObject
) -> None:
    time, both = ManualClock(START), Both()
    released_steps = data.draw(st.integers(0, len(steps)), "steps whose changes 0.2.0 writes")
    with using(time):
        for number, step in enumerate(steps):
            new = []
            for pk, pause, lag in step:
                time.advance(pause)
                new.append(both.change(pk, lag))
            order = data.draw(st.permutations([*new, *data.draw(st.lists(st.sampled_from(both.records), max_size=4))]))
            while order:
                size = data.draw(st.integers(1, len(order)))
                (both.write_as_released if number < released_steps else both.write)(order[:size])
                order = order[size:]
            time.advance(data.draw(pauses))
            if data.draw(st.booleans()):
                both.table.delete_expired()
            moments = [clock.now() - data.draw(pauses) for _ in range(3)]
            both.assert_same_answers(
                data.draw(st.integers(1, 4)),
                [(min(moments), max(moments)), (moments[0], clock.now()), (START - HOURS, clock.now() + HOURS)],
            )


def test_a_state_that_0_2_0_wrote_into_the_present_window_gives_way_to_the_latest() -> None:
    time, both = ManualClock(START), Both()
    with using(time):
        both.write_as_released([both.change(ACCOUNTS[0], timedelta())])
        time.advance(timedelta(seconds=1))
        both.write([both.change(ACCOUNTS[0], timedelta())])
        assert {one["version"] for one in both.table.items.values() if one["sk"].startswith("1h#")} == {1}
        both.assert_same_answers(1, [(START - HOURS, START + HOURS)])


def test_after_a_rollback_only_the_windows_that_were_not_left_are_missing() -> None:
    time, both = ManualClock(START), Both()
    with using(time):
        for _ in range(4):
            both.write([both.change(ACCOUNTS[0], timedelta())])
            time.advance(timedelta(minutes=5))
        for _ in range(3):
            both.write_as_released([both.change(ACCOUNTS[0], timedelta())])
            time.advance(timedelta(minutes=5))
        stored = {sk for pk, sk in both.table.items if sk.startswith("5m#")}
        kept = {name(LAYERS[1], one) for one in both.released.of(LAYERS[1], ACCOUNTS[0])}
        assert kept - stored == {"5m#2026-10-23T23:10:00Z"}
        assert stored < kept


def test_an_entity_whose_latest_state_cannot_be_read_shows_the_windows_that_it_has_left() -> None:
    time, both = ManualClock(START), Both()
    with using(time):
        for pk in (ACCOUNTS[0], ACCOUNTS[0], ACCOUNTS[1]):
            both.write([both.change(pk, timedelta())])
            time.advance(timedelta(minutes=1))
        del both.table.items[ACCOUNTS[0], LATEST]["last_updated"]
        queries = both.table.queries(ACCOUNT_STATES)
        change, five, _ = LAYERS
        assert [one["version"] for one in queries.last(ACCOUNTS[0], change, Paging(9, "request")).items] == [1]
        window = queries.window(five, START + timedelta(minutes=2), Paging(9, "request"), lambda: 30.0)
        assert [one["currency"] for one in window["items"]] == ["EUR"]


@pytest.mark.parametrize(("back", "expected"), [(5, ACCOUNTS), (0, (ACCOUNTS[0], ACCOUNTS[2]))])
def test_a_page_of_a_window_is_short_when_the_time_runs_short(back: int, expected: Sequence[str]) -> None:
    time, both = ManualClock(START), Both()
    with using(time):
        for pk in ACCOUNTS:
            both.write([both.change(pk, timedelta())])
        time.advance(timedelta(minutes=5))
        both.write([both.change(ACCOUNTS[0], timedelta()), both.change(ACCOUNTS[2], timedelta())])
        pages: list[list[str]] = []
        token = None
        while not pages or token:
            at, paging = clock.now() - back * timedelta(minutes=1), Paging.of("request", 9, token)
            body = both.table.queries(ACCOUNT_STATES).window(LAYERS[1], at, paging, lambda: 7.9)
            token = body["next"]
            pages.append([f"ACCOUNT#{one['agency']}#{one['currency']}" for one in body["items"]])
        assert sorted(one for page in pages for one in page) == sorted(expected)
        nothing = len(ACCOUNTS) - len(expected) + 1
        assert [len(page) for page in pages].count(0) == nothing, "empty, though another may follow"
        assert len(pages) == len(ACCOUNTS) + 1
