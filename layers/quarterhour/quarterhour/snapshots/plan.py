"""Snapshots, the pure part: from the records of changed entities to the states that each layer keeps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from quarterhour.aws.entity import LATEST, window_index
from quarterhour.aws.items import from_item
from quarterhour.aws.streams import Poison, Record, new_image, sequence
from quarterhour.model.clock import parse_iso
from quarterhour.snapshots.keys import change_sk, window_name, window_start
from quarterhour.snapshots.layers import Layer

_NOT_STATE: Final = frozenset(
    {"pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "expires_at", "schema", "open", "open_version"}
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state to write, and the lowest padded sequence number of the stream records that it covers."""

    values: dict[str, Any]
    seq: str


def snapshots(records: Iterable[Record], layers: Sequence[Layer]) -> tuple[list[Snapshot], list[Poison]]:
    """Return the states to write for a batch, and the records that can never be applied.

    The states are the newest of each window, and each single change. Only changes of ``latest`` items count, so
    snapshots never trigger snapshots.
    """
    newest: dict[tuple[str, str], Snapshot] = {}
    poison = []
    for record in filter(_is_change_of_latest, records):
        try:
            states = _states(from_item(new_image(record)), layers)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            poison.append(Poison(record, f"not the state of an entity: {error!r}"))
            continue
        for values in states:
            key = (values["pk"], values["sk"])
            snapshot = Snapshot(values, sequence(record))
            newest[key] = _newer(newest[key], snapshot) if key in newest else snapshot
    return list(newest.values()), poison


def _newer(one: Snapshot, other: Snapshot) -> Snapshot:
    newest = max(one, other, key=lambda snapshot: snapshot.values["version"])
    return Snapshot(newest.values, min(one.seq, other.seq))


def _is_change_of_latest(record: Record) -> bool:
    return record.get("eventName") in {"INSERT", "MODIFY"} and record["dynamodb"]["Keys"]["sk"]["S"] == LATEST


def _states(latest: dict[str, Any], layers: Sequence[Layer]) -> list[dict[str, Any]]:
    if not isinstance(latest["version"], Decimal):
        raise TypeError(f"the version is {latest['version']!r}")
    state = {name: value for name, value in latest.items() if name not in _NOT_STATE}
    at = parse_iso(latest["last_updated"])
    return [{**state, **_place(latest, layer, at)} for layer in layers]


def _place(latest: dict[str, Any], layer: Layer, at: datetime) -> dict[str, Any]:
    """Return the keys and the expiry of a state in a layer."""
    if layer.window is None:
        sk = change_sk(layer, latest["last_updated"], int(latest["version"]))
        return {"pk": latest["pk"], "sk": sk, "expires_at": int((at + layer.retention).timestamp())}
    start = window_start(at, layer.window)
    name = window_name(layer, start)
    expires = int((start + layer.window + layer.retention).timestamp())
    return {"pk": latest["pk"], "sk": name, "expires_at": expires, **window_index(name, latest["pk"])}
