"""Work objects: what the steps of a run pass on, as gzipped JSON, one value a line."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from quarterhour.reports.packing import FAST, packed, unpacked


@contextmanager
def value_writer(file: IO[bytes]) -> Iterator[Callable[[Any], None]]:
    """Return a function that adds a value to a work object; the same values give the same bytes."""
    with packed(file, FAST) as content:

        def write(value: Any) -> None:  # noqa: ANN401 - JSON is any value
            content.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

        yield write


def read_values(file: IO[bytes]) -> Iterator[Any]:
    """Yield the values of a work object; raise ``ValueError`` if it is damaged."""
    with unpacked(file) as content:
        yield from map(json.loads, content)


def last_value(file: IO[bytes]) -> Any:  # noqa: ANN401 - JSON is any value
    """Return the last value of a work object; raise ``ValueError`` if it is damaged or empty."""
    last: bytes | None = None
    with unpacked(file) as content:
        for last in content:  # noqa: B007 - only the last value counts
            pass
    if last is None:
        raise ValueError("a work object is empty")
    return json.loads(last)
