"""Snapshots, the pure part: the states that each layer keeps, and those to write for the records of a batch."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.aws.entity import LATEST, Values, is_live
from quarterhour.aws.items import Item, from_item
from quarterhour.aws.streams import Poison, Record, new_image, old_image, sequence
from quarterhour.model.clock import parse_iso
from quarterhour.snapshots.keys import change_sk, window_index, window_name, window_start
from quarterhour.snapshots.layers import Layer

STATE: Final = frozenset(
    {"events", "gross", "refunds", "commission", "payments", "charges"}
    | {"units_per_base", "source", "base"}
    | {"version", "last_updated"}
)
"""The attributes of a state: an account's totals, an exchange rate, and the two that every state has.

A ``latest`` item can hold more, such as the keys of indexes and what its writer needs. No snapshot holds that.
"""
NOT_A_STATE: Final = (ValueError, KeyError, TypeError, OverflowError)
"""The errors that tell that an item holds no state."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state to write, and the lowest padded sequence number of the stream records that it covers."""

    values: Values
    seq: str


class _Change(NamedTuple):
    """The states before and after a change, one for each layer; none of an image that holds no state.

    ``problems``: why an image holds no state.
    """

    before: Sequence[Values]
    after: Sequence[Values]
    problems: Sequence[str]


def snapshots(records: Iterable[Record], layers: Sequence[Layer], now: datetime) -> tuple[list[Snapshot], list[Poison]]:
    """Return the states to write for a batch, and the records that can never be applied.

    The states are those of the windows that the entities have left: the old image of the first change in a later
    window is the last state of the window before. The layer of single changes keeps every old image. States that have
    expired at ``now`` are left out. Only changes of ``latest`` items count, so snapshots never trigger snapshots.

    An image that holds no state makes its record poison. The other image is used: without a state after the change, the
    entity has left every window.
    """
    newest: dict[tuple[str, str], Snapshot] = {}
    poison = []
    for record in filter(_is_change_of_latest, records):
        change = _read(record, layers)
        if change.problems:
            poison.append(Poison(record, "; ".join(change.problems)))
        entered = {values["sk"] for values in change.after}
        for values in change.before:
            if values["sk"] not in entered and is_live(values, now):
                key = (values["pk"], values["sk"])
                snapshot = Snapshot(values, sequence(record))
                newest[key] = _newer(newest[key], snapshot) if key in newest else snapshot
    return list(newest.values()), poison


def states_of_parked(record: Record, layers: Sequence[Layer], now: datetime) -> list[Values] | None:
    """Return the states to write for a record that was parked; ``None`` for one that can still not be applied.

    They are those of both images, whether the entity has left their windows or not: a version that keeps the new image
    of each change may have parked the record, and applied those around it.
    """
    if not _is_change_of_latest(record):
        return []
    change = _read(record, layers)
    return None if change.problems else [one for one in (*change.before, *change.after) if is_live(one, now)]


def state_in(layer: Layer, latest: Values) -> Values:
    """Return the state of a ``latest`` item as a layer keeps it: under its window or change, with its expiry.

    Raises one of ``NOT_A_STATE`` for an item that holds no state.
    """
    if not isinstance(latest["version"], Decimal):
        raise TypeError(f"the version is {latest['version']!r}")
    state = {name: value for name, value in latest.items() if name in STATE}
    at = parse_iso(latest["last_updated"])
    if layer.window is None:
        sk = change_sk(layer, latest["last_updated"], int(latest["version"]))
        return {**state, "pk": latest["pk"], "sk": sk, "expires_at": int((at + layer.retention).timestamp())}
    start = window_start(at, layer.window)
    sk = window_name(layer, start)
    expires = int((start + layer.window + layer.retention).timestamp())
    return {**state, "pk": latest["pk"], "sk": sk, "expires_at": expires, **window_index(sk, latest["pk"])}


def _newer(one: Snapshot, other: Snapshot) -> Snapshot:
    newest = max(one, other, key=lambda snapshot: snapshot.values["version"])
    return Snapshot(newest.values, min(one.seq, other.seq))


def _is_change_of_latest(record: Record) -> bool:
    return record.get("eventName") in {"INSERT", "MODIFY"} and record["dynamodb"]["Keys"]["sk"]["S"] == LATEST


def _read(record: Record, layers: Sequence[Layer]) -> _Change:
    problems: list[str] = []

    def states(image: Callable[[Record], Item]) -> list[Values]:
        try:
            return _states(image(record), layers)
        except NOT_A_STATE as error:
            problems.append(f"not the state of an entity: {error!r}")
            return []

    before = states(old_image) if record["eventName"] == "MODIFY" else []
    return _Change(before, states(new_image), problems)


def _states(image: Item, layers: Sequence[Layer]) -> list[Values]:
    latest = from_item({name: value for name, value in image.items() if name in STATE or name == "pk"})
    return [state_in(layer, latest) for layer in layers]
