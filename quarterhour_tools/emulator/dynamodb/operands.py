"""What expressions compute: comparisons, functions of values, and changes at a path of an item."""

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any, Final

from quarterhour_tools.emulator.dynamodb.errors import InvalidCallError
from quarterhour_tools.emulator.dynamodb.sizes import item_size
from quarterhour_tools.emulator.dynamodb.values import Item, Value, plus, sortable

Path = tuple[str | int, ...]
"""The names of an attribute, and of what is within it: names of a map, or numbers of a list."""

_ORDERED: Final = frozenset("SNB")
_SET_TYPES: Final = frozenset({"SS", "NS", "BS"})
_MEMBER_OF: Final = {"S": "SS", "N": "NS", "B": "BS"}
_PREFIXED: Final = frozenset("SB")

# ---------------------------------------------------------------- values


def _ordered(compare: Callable[[Any, Any], bool], left: Value | None, right: Value | None) -> bool:
    """Compare two values of one type that has an order; others are in none."""
    if left is None or right is None or left.keys() != right.keys() or not left.keys() <= _ORDERED:
        return False
    return compare(sortable(left), sortable(right))


def between(value: Value | None, low: Value | None, high: Value | None) -> bool:
    """Tell whether a value is from ``low`` to ``high``."""
    if _ordered(gt, low, high):
        raise InvalidCallError("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
    return _ordered(ge, value, low) and _ordered(le, value, high)


def _comparing(compare: Callable[[Any, Any], bool]) -> Callable[[Value | None, Value | None], bool]:
    return lambda left, right: _ordered(compare, left, right)


COMPARISONS: Final[Mapping[str, Callable[[Value | None, Value | None], bool]]] = {
    "=": lambda left, right: left is not None and left == right,
    "<>": lambda left, right: left != right,
    "<": _comparing(lt),
    "<=": _comparing(le),
    ">": _comparing(gt),
    ">=": _comparing(ge),
}


def _begins_with(value: Value | None, prefix: Value | None) -> bool:
    if value is None or prefix is None or value.keys() != prefix.keys() or not value.keys() <= _PREFIXED:
        return False
    begun: Any = sortable(value)
    return bool(begun.startswith(sortable(prefix)))


def _contains(value: Value | None, member: Value | None) -> bool:
    if value is None or member is None:
        return False
    ((kind, content),), ((kind_of_member, sought),) = value.items(), member.items()
    if kind == "L":
        return member in content
    return kind in {kind_of_member, _MEMBER_OF.get(kind_of_member)} and kind != "N" and sought in content


def _size(value: Value | None) -> Value | None:
    """Return the size of a value: characters, bytes, or members."""
    if value is None:
        return None
    ((kind, content),) = value.items()
    return {"N": str(item_size({"": value}) if kind == "B" else len(content))}


FUNCTIONS: Final[Mapping[str, tuple[Callable[..., bool], int]]] = {
    "attribute_exists": (lambda value: value is not None, 1),
    "attribute_not_exists": (lambda value: value is None, 1),
    "begins_with": (_begins_with, 2),
    "contains": (_contains, 2),
}


def _list_append(one: Value | None, other: Value | None) -> Value | None:
    if one is None or other is None:
        return None
    if "L" not in one or "L" not in other:
        raise InvalidCallError("Incorrect operand type for a function; function: list_append")
    return {"L": [*one["L"], *other["L"]]}


OPERANDS: Final[Mapping[str, Callable[..., Value | None]]] = {
    "size": _size,
    "if_not_exists": lambda value, other: other if value is None else value,
    "list_append": _list_append,
}


def computed(compute: Callable[[str, str], str], left: Value | None, right: Value | None) -> Value | None:
    """Return the result for two numbers; ``None`` if one is missing."""
    if left is None or right is None:
        return None
    if "N" not in left or "N" not in right:
        raise InvalidCallError("An operand in the update expression has an incorrect data type")
    return {"N": compute(left["N"], right["N"])}


def added(value: Value | None, added: Value) -> Value:
    """Return a number plus another one, or a set with more members."""
    ((kind, content),) = added.items()
    if kind != "N" and kind not in _SET_TYPES:
        raise InvalidCallError("Incorrect operand type for operator or function; operator: ADD")
    if value is None:
        return added
    if kind not in value:
        raise InvalidCallError("An operand in the update expression has an incorrect data type")
    return {"N": plus(value["N"], content)} if kind == "N" else {kind: sorted({*value[kind], *content})}


# ---------------------------------------------------------------- paths


def value_at(item: Item, names: Path) -> Value | None:
    """Return the value at a path; ``None`` if there is none."""
    members: Any = item
    value: Value | None = None
    for number, name in enumerate(names):
        if number:
            members = value.get("M" if isinstance(name, str) else "L") if value else None
        if isinstance(name, str):
            value = members.get(name) if members else None
        else:
            value = members[name] if members and name < len(members) else None
    return value


def _within(value: Value | None, name: str | int) -> tuple[str, Any]:
    """Return the type of what holds a name or a number, and its members."""
    kind = "M" if isinstance(name, str) else "L"
    if value is None or kind not in value:
        raise InvalidCallError("The document path provided in the update expression is invalid for update")
    return kind, value[kind]


def replaced(members: Any, names: Path, value: Value) -> Any:  # noqa: ANN401 - an item, a map or a list
    """Return members with a value at a path; what is not on the path is shared with the old ones."""
    name, rest = names[0], names[1:]
    if rest:
        inner = members.get(name) if isinstance(name, str) else (members[name] if name < len(members) else None)
        kind, inner_members = _within(inner, rest[0])
        value = {kind: replaced(inner_members, rest, value)}
    if isinstance(name, str):
        return {**members, name: value}
    return [*members[:name], value, *members[name + 1 :]]


def removed(members: Any, names: Path) -> Any:  # noqa: ANN401 - as above
    """Return members without what is at a path."""
    name, rest = names[0], names[1:]
    if rest:
        inner = members.get(name) if isinstance(name, str) else (members[name] if name < len(members) else None)
        kind, inner_members = _within(inner, rest[0])
        return replaced(members, (name,), {kind: removed(inner_members, rest)})
    if isinstance(name, str):
        return {other: value for other, value in members.items() if other != name}
    return [*members[:name], *members[name + 1 :]]


def without_members(members: Any, names: Path, value: Value | None, deleted: Value) -> Any:  # noqa: ANN401 - as above
    """Return an item without some members of a set; an empty set is no attribute."""
    ((kind, content),) = deleted.items()
    if kind not in _SET_TYPES:
        raise InvalidCallError("Incorrect operand type for operator or function; operator: DELETE")
    if value is None:
        return members
    if kind not in value:
        raise InvalidCallError("An operand in the update expression has an incorrect data type")
    left = [one for one in value[kind] if one not in content]
    return replaced(members, names, {kind: left}) if left else removed(members, names)


def last_number(names: Path) -> int:
    """Return the place in a list at which a path ends; -1 for another path."""
    last = names[-1]
    return last if isinstance(last, int) else -1
