"""Messages of events for the queue and the bus, within the limits of SQS and EventBridge."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from quarterhour.model import clock
from quarterhour_tools.errors import ToolError

LONGEST_MESSAGE: Final = 262_144
"""The most bytes of a message of the intake's queue, and of all events of a call to the bus."""
_OVERHEAD: Final = 200
"""Bytes of an entry of the bus beside its detail, at most."""
LONGEST_DETAIL: Final = LONGEST_MESSAGE - _OVERHEAD
"""The most bytes of an event that is put on the bus."""
DETAIL_TYPE: Final = "quarterhour.event"
"""The detail-type of the events of a bus that are recorded."""
SOURCE: Final = "quarterhour.send"
_MOST_EVENTS: Final = 500
_MOST_ENTRIES: Final = 10
_ATTEMPTS: Final = 6


def messages(texts: Iterable[str]) -> Iterator[str]:
    """Yield the bodies of messages that hold these events, the texts of JSON objects: one event, or a list of them."""
    waiting: list[str] = []
    size = 2
    for text in texts:
        length = len(text.encode()) + 1
        if waiting and (size + length > LONGEST_MESSAGE or len(waiting) == _MOST_EVENTS):
            yield _body(waiting)
            waiting, size = [], 2
        waiting.append(text)
        size += length
    if waiting:
        yield _body(waiting)


def _body(texts: Sequence[str]) -> str:
    """Return the body of a message; an event of the largest size has no room for a list around it."""
    return texts[0] if len(texts) == 1 else f"[{','.join(texts)}]"


def entries(texts: Iterable[str]) -> Iterator[list[dict[str, Any]]]:
    """Yield the entries of each call that puts these events on the default bus, one entry an event."""
    waiting: list[dict[str, Any]] = []
    size = 0
    for text in texts:
        length = len(text.encode()) + _OVERHEAD
        if waiting and (size + length > LONGEST_MESSAGE or len(waiting) == _MOST_ENTRIES):
            yield waiting
            waiting, size = [], 0
        waiting.append({"EventBusName": "default", "Source": SOURCE, "DetailType": DETAIL_TYPE, "Detail": text})
        size += length
    if waiting:
        yield waiting


def put_on_bus(client: Any, some: Sequence[dict[str, Any]]) -> None:  # noqa: ANN401 - the stubs are no dependency
    """Put events on a bus; repeat those that the answer names as failed. Raises ``ToolError`` if some stay so."""
    left, codes = list(some), set[object]()
    for attempt in range(_ATTEMPTS):
        answer = client.put_events(Entries=left)
        codes = {one.get("ErrorCode") for one in answer["Entries"]} - {None}
        left = [entry for entry, one in zip(left, answer["Entries"], strict=True) if "ErrorCode" in one]
        if not left:
            return
        clock.sleep(2.0**attempt / 10)
    raise ToolError(f"EventBridge did not accept {len(left)} events: {', '.join(sorted(map(str, codes)))}")


def is_object(text: str) -> bool:
    """Return whether a text is one JSON object, so that it can be an event of a bus, or one of a list."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
