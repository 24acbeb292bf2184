"""A connection's own map, in the language of the maps of files: `docs/csv.md`."""

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.events import Converter
from quarterhour.file_formats.csv.map import CsvMap, load_map
from quarterhour.file_formats.csv.seen import seen_rows
from quarterhour.file_formats.csv.table import CsvRecord
from quarterhour.file_formats.webhooks.delivery import Excluded, Mapped
from quarterhour.file_formats.webhooks.payload import PayloadError, at_path, objects
from quarterhour.model import money
from quarterhour.model.fields import printable

STATE: Final = "state"
"""The lookup of a map that says what the statuses of orders mean."""
_PAYLOAD: Final = "payload"
_MOST_DIGITS: Final = 38


@lru_cache(maxsize=16)
def _loaded(text: str) -> CsvMap:
    try:
        return load_map(text)
    except MapError as error:
        raise PayloadError(f"the map of the connection: {error}") from None


def check(map_: str) -> None:
    """Raise ``ValueError`` with the problem of a map that cannot be used."""
    try:
        csv_map = load_map(map_)
    except MapError as error:
        raise ValueError(printable(error)) from None
    if csv_map.settings and STATE not in csv_map.lookups:
        raise ValueError(_lacking(csv_map))


def _lacking(csv_map: CsvMap) -> str:
    return f"lacks {', '.join(sorted(csv_map.settings))} in [values]"


def state_in(map_: str, status: str) -> str:
    """Return what a status means by the lookup `state` of a map; empty if the map does not list it."""
    lookup = _loaded(map_).lookups.get(STATE)
    return lookup(status) if lookup else ""


def events_by(map_: str, payload: object) -> Mapped:
    """Return the events that a map makes of a payload; raise ``PayloadError`` if an item cannot be mapped.

    A row is an item of the list to which the map's `items` lead, or the payload itself. A column is a path such as
    `order.currency` in the item, else in the payload; `payload.id` is in the payload even if the item has an id.
    """
    csv_map = _loaded(map_)
    if csv_map.settings:
        raise PayloadError(f"the map of the connection: {_lacking(csv_map)}")
    alone = payload if isinstance(payload, list) else [payload]
    items = objects(at_path(payload, csv_map.items) if csv_map.items else alone, csv_map.items or "the payload")
    columns = list(csv_map.clean)
    events, excluded = list[dict[str, Any]](), list[Excluded]()
    try:
        with seen_rows() as seen:
            converter = Converter(columns, csv_map, None, seen)
            rows = (CsvRecord(number, _cells(item, payload, columns)) for number, item in enumerate(items, 1))
            for row in map(converter.convert, converter.rows_of(rows)):
                if row.bad:
                    raise PayloadError(f"item {row.line}: {row.bad}")
                events += [one.body for one in row.events]
                left_out = [(row.rule, row.amounts or {})] if row.rule else list(row.left_out)
                excluded += [Excluded(rule, amounts) for rule, amounts in left_out]
    except MapError as error:
        raise PayloadError(f"the map of the connection: {error}") from None
    return Mapped(events, excluded)


def _cells(item: Mapping[str, Any], payload: object, columns: list[str]) -> list[str]:
    places = (item, payload, {_PAYLOAD: payload})
    return [next((text for one in places if (text := _text(at_path(one, column)))), "") for column in columns]


def _text(value: object) -> str:
    """Return a value of JSON as the text of a cell; empty for an object, a list and null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return money.plain(value) if value.is_finite() and abs(value.adjusted()) < _MOST_DIGITS else ""
    return value if isinstance(value, str) else ""
