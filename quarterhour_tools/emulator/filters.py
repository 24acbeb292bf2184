"""Filter criteria of an event source mapping: they select the stream records that a function gets."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from quarterhour_tools.errors import ToolError

Pattern = dict[str, Any]
Filters = tuple[Pattern, ...]
"""Patterns of which a record must match one; without patterns, every record matches."""

_MISSING: Final = object()


def parse_filters(filters: Iterable[Mapping[str, str]]) -> Filters:
    """Parse the filters of a template; raise ``ToolError`` for a pattern that the emulator does not support."""
    patterns = tuple(json.loads(one["Pattern"]) for one in filters)
    for pattern in patterns:
        _check(pattern)
    return patterns


def matches(filters: Filters, record: Mapping[str, Any]) -> bool:
    """Tell whether a record matches the filters."""
    return not filters or any(_matches(pattern, record) for pattern in filters)


def _matches(pattern: Pattern, value: object) -> bool:
    """Tell whether a value matches a pattern: every key must match, and a list holds a leaf's possible values."""
    for key, rules in pattern.items():
        found = value.get(key, _MISSING) if isinstance(value, Mapping) else _MISSING
        if isinstance(rules, dict):
            if not _matches(rules, found):
                return False
        elif not any(_fits(rule, found) for rule in rules):
            return False
    return True


def _fits(rule: object, found: object) -> bool:
    if isinstance(rule, dict):
        ((operator, operand),) = rule.items()
        return _OPERATORS[operator](operand, found)
    return type(rule) is type(found) and rule == found


def _anything_but(operand: Any, found: object) -> bool:  # noqa: ANN401 - JSON is any value
    rules = operand if isinstance(operand, list) else [operand]
    return found is not _MISSING and not any(_fits(rule, found) for rule in rules)


_OPERATORS: Final[Mapping[str, Callable[[Any, object], bool]]] = {
    "exists": lambda operand, found: (found is not _MISSING) is operand,
    "prefix": lambda operand, found: isinstance(found, str) and found.startswith(operand),
    "suffix": lambda operand, found: isinstance(found, str) and found.endswith(operand),
    "equals-ignore-case": lambda operand, found: isinstance(found, str) and found.lower() == operand.lower(),
    "anything-but": _anything_but,
}


def _check(pattern: object) -> None:
    """Raise ``ToolError`` for a pattern that this module does not support."""
    if not isinstance(pattern, dict):
        raise ToolError(f"a filter's pattern holds {pattern!r}: expected an object")
    for key, rules in pattern.items():
        if isinstance(rules, dict):
            _check(rules)
        elif key.startswith("$") or not isinstance(rules, list):
            raise ToolError(f"the emulator does not support {key!r}: {rules!r} in a filter's pattern")
        else:
            for rule in rules:
                if isinstance(rule, dict) and (len(rule) != 1 or not rule.keys() <= _OPERATORS.keys()):
                    raise ToolError(f"the emulator does not support {rule!r} in a filter's pattern")
