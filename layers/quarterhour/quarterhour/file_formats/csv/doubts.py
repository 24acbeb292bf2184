"""What a proposal of a map must not pass over: columns that may decide which rows are sales, and for how much."""

import re
from collections.abc import Sequence
from typing import Final

from quarterhour.file_formats.csv.cells import zone_named
from quarterhour.file_formats.csv.column_names import plain
from quarterhour.file_formats.csv.columns import Column
from quarterhour.file_formats.csv.errors import CellError
from quarterhour.file_formats.csv.proposal import MapEntry, braced, quoted
from quarterhour.file_formats.csv.sample import Sample

_EXTRA: Final = "[event.data.extra]"
_REFUND: Final = re.compile(
    r"refund|returned|erstatt|rückzahl|rembours|reembols|devol|rimbors|terugbet|chargeback|disput"
)
_DECIDES: Final = re.compile(
    r"\b(?:status|state|zustand|état|etat|estado|stato|stand|type|typ|art|tipo|kind|direction|richtung|impact"
    r"|captured|cancelled|canceled|storniert|voided|test|debit|credit|soll|haben)\b"
)
_ZONE: Final = re.compile(
    r"\b(?:time ?zone|zeitzone|zona horaria|huso horario|fuseau(?: horaire)?|fuso orario|tijdzone)\b"
)
_MOST_SHOWN: Final = 6


def doubts(sample: Sample, unused: Sequence[str]) -> list[MapEntry]:
    """Return a question for each unused column that may hold refunds, or may say which rows are sales."""
    found = []
    for column in sample.columns:
        if column.name not in unused or (sample.pays and column is sample.named("kind")):
            continue
        question = _question(column)
        if question:
            found.append(MapEntry.open(_EXTRA, quoted(column.name), question, [braced(column)]))
    return found


def _question(column: Column) -> str:
    name = plain(column.name)
    keep = "To keep the cell beside the event, name the column under data.extra; else delete that line."
    if column.is_number and _REFUND.search(name):
        return (
            f"Does {column.name!r} hold what was refunded of a row? Nothing is refunded by it here: write an [[event]] "
            f"with its amount, of the type sale.refunded. {keep}"
        )
    values = column.values
    if values and len(values) > 1 and not column.is_number and not column.is_time and _DECIDES.search(name):
        shown = ", ".join(f"{value} ({count})" for value, count in values.most_common(_MOST_SHOWN))
        return (
            f"Does {column.name!r} say which rows are sales? All rows are events here: leave out the others by "
            f"[[exclude]]. It has {shown}. {keep}"
        )
    return ""


def zone_of(sample: Sample) -> MapEntry | None:
    """Return the question about a column that names the zone of each row's time; `None` if there is none."""
    column = next((one for one in sample.columns if _ZONE.search(plain(one.name))), None)
    if column is None:
        return None
    values = list(column.values or ())
    shown = ", ".join(map(repr, values[:_MOST_SHOWN]))
    question = f"Does {column.name!r} name the zone of the times? It has {shown}. If they are no zones, use [lookups]."
    return MapEntry.open("[time]", "zone", question, [braced(column) if all(map(_is_zone, values)) else '"UTC"'])


def _is_zone(text: str) -> bool:
    try:
        zone_named(text)
    except CellError:
        return False
    return True


def repeats_on_items(sample: Sample, amount: Column) -> bool:
    """Return whether the rows of each order have one amount, or none, so that it may be that of the whole order."""
    order, quantity = sample.named("order_id"), sample.named("quantity", numeric=True)
    order = order or next((one for one in sample.columns if one.repeated and plain(one.name) in {"name", "id"}), None)
    if order is None or not order.repeated or amount is quantity:
        return False
    amounts: dict[str, set[str]] = {}
    rows: dict[str, int] = {}
    for name, cell in zip(sample.cells(order), sample.cells(amount), strict=True):
        if name:
            amounts.setdefault(name, set()).add(cell)
            rows[name] = rows.get(name, 0) + 1
    several = [name for name, count in rows.items() if count > 1]
    return bool(several) and all(len(amounts[name] - {""}) <= 1 for name in several)
