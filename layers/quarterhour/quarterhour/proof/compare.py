"""Compares JSON with what is right, and names each place that differs."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

Json = Mapping[str, Any]
_SHOWN: Final = 100
"""The most characters of a value that a problem shows."""


def differences(found: Any, expected: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401 - JSON is any value
    """Yield each place at which JSON differs from what is right: ``days[3].net: expected 9.00, found 10.00``."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        inner = f"{path}." if path else ""
        for name in expected:
            if name in found:
                yield from differences(found[name], expected[name], f"{inner}{name}")
            else:
                yield f"{inner}{name}: is missing"
        yield from (f"{inner}{short(name)}: is unknown" for name in found if name not in expected)
    elif isinstance(found, list) and isinstance(expected, list):
        if len(found) != len(expected):
            yield f"{path}: expected {len(expected)} entries, found {len(found)}"
        for index, (one, right) in enumerate(zip(found, expected, strict=False)):
            yield from differences(one, right, f"{path}[{index}]")
    elif found != expected or type(found) is not type(expected):
        yield f"{path}: expected {short(expected)}, found {short(found)}"


def short(value: object) -> str:
    """Return a value as a problem shows it."""
    text = "null" if value is None else str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
