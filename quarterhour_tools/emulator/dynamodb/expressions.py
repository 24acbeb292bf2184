"""DynamoDB's expressions: conditions, updates, key conditions and projections.

A text is read once, into a function of an item and a ``Scope``: the placeholders of one call. A part of the language
that is not known here is an error that names it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Any, Final, NamedTuple

from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

from quarterhour_tools.emulator.dynamodb.errors import InvalidCallError
from quarterhour_tools.emulator.dynamodb.sizes import item_size
from quarterhour_tools.emulator.dynamodb.values import Item, Value, minus, plus, sortable


class Scope(NamedTuple):
    """The placeholders of a call: ``#name`` for names, ``:value`` for values."""

    names: Mapping[str, str]
    values: Mapping[str, Value]

    def name(self, token: str) -> str:
        """Return the attribute that a token names."""
        if not token.startswith("#"):
            return token
        if token not in self.names:
            raise InvalidCallError(f"An expression attribute name used in the document path is not defined: {token}")
        return self.names[token]

    def value(self, token: str) -> Value:
        """Return the value of a placeholder."""
        if token not in self.values:
            raise InvalidCallError(f"An expression attribute value used in expression is not defined: {token}")
        return self.values[token]


Condition = Callable[[Item, Scope], bool]
Operand = Callable[[Item, Scope], Value | None]
"""Returns the value of an operand; ``None`` for an attribute that the item lacks."""
Path = tuple[str | int, ...]
"""The tokens of an attribute's name, and of what is within it: names of a map, or numbers of a list."""

_TOKEN: Final = re.compile(r"\s*(?:([#:]?\w+)|(<=|>=|<>|[=<>(),.\[\]+-]))")
_RESERVED: Final = frozenset(ReservedKeywords.get_reserved_keywords())
_ORDERED: Final = frozenset("SNB")
_SET_TYPES: Final = frozenset({"SS", "NS", "BS"})
_MEMBER_OF: Final = {"S": "SS", "N": "NS", "B": "BS"}
_PREFIXED: Final = frozenset("SB")


@lru_cache(maxsize=1000)
def placeholders(expressions: tuple[str, ...]) -> frozenset[str]:
    """Return the placeholders that some expressions use."""
    return frozenset(token for text in expressions for token in _tokens(text) if token[0] in "#:")


@lru_cache(maxsize=1000)
def condition(text: str) -> Condition:
    """Return a condition or a filter."""
    reader = _Reader(text)
    found = reader.either()
    reader.end()
    return found


class KeyCondition(NamedTuple):
    """A comparison of a key: the token of its name, the operator, and the tokens of the values."""

    name: str
    operator: str
    values: tuple[str, ...]


@lru_cache(maxsize=1000)
def key_conditions(text: str) -> tuple[KeyCondition, ...]:
    """Return the comparisons of a key condition."""
    reader = _Reader(text)
    found = [reader.key_condition()]
    while reader.takes("AND"):
        found.append(reader.key_condition())
    reader.end()
    return tuple(found)


class Update(NamedTuple):
    """An update: what is set, removed, added to numbers and sets, and deleted from sets."""

    sets: tuple[tuple[Path, Operand], ...]
    removes: tuple[Path, ...]
    adds: tuple[tuple[Path, str], ...]
    deletes: tuple[tuple[Path, str], ...]

    def apply(self, item: Item, scope: Scope) -> Item:
        """Return the item after the update; every operand is that of the item before."""
        found: Any = item
        for path, operand in self.sets:
            value = operand(item, scope)
            if value is None:
                raise InvalidCallError("The provided expression refers to an attribute that does not exist in the item")
            found = _replaced(found, _names(path, scope), value)
        for path, token in self.adds:
            names = _names(path, scope)
            found = _replaced(found, names, _sum(_at(item, names), scope.value(token)))
        for path, token in self.deletes:
            names = _names(path, scope)
            found = _without_members(found, names, _at(item, names), scope.value(token))
        # The numbers of a list are those before the update: so the last of them goes first.
        for names in sorted((_names(path, scope) for path in self.removes), key=_last_number, reverse=True):
            found = _removed(found, names)
        item_after: Item = found
        return item_after

    def names(self, scope: Scope) -> set[str]:
        """Return the attributes that the update changes."""
        changed = [path for path, _ in (*self.sets, *self.adds, *self.deletes)] + list(self.removes)
        return {scope.name(str(path[0])) for path in changed}


@lru_cache(maxsize=1000)
def update(text: str) -> Update:
    """Return an update; raise ``InvalidCallError`` if two of its paths overlap."""
    reader = _Reader(text)
    found = reader.update()
    reader.end()
    paths = [*(path for path, _ in (*found.sets, *found.adds, *found.deletes)), *found.removes]
    for number, one in enumerate(paths):
        if any(one[: len(other)] == other[: len(one)] for other in paths[:number]):
            raise InvalidCallError("Invalid UpdateExpression: Two document paths overlap with each other")
    return found


@lru_cache(maxsize=1000)
def projection(text: str) -> tuple[str, ...]:
    """Return the tokens of the attributes that a projection keeps; paths within an attribute are not known."""
    reader = _Reader(text)
    paths = [reader.path()]
    while reader.takes(","):
        paths.append(reader.path())
    reader.end()
    if any(len(path) > 1 for path in paths):
        raise NotImplementedError(f"the engine knows no projection of paths within an attribute: {text}")
    return tuple(str(path[0]) for path in paths)


# ---------------------------------------------------------------- reading


def _tokens(text: str) -> list[str]:
    found, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidCallError(
                f'Invalid expression: Syntax error; token: "{text[at:].strip()[:1]}", near: "{text}"'
            )
        found.append(match[1] or match[2])
        at = match.end()
    return found


class _Reader:
    """Reads one expression from its first token to its last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0

    def takes(self, token: str) -> bool:
        """Go past the next token if it is this one; keywords in any case."""
        if self._next().upper() != token:
            return False
        self._at += 1
        return True

    def end(self) -> None:
        """Raise ``InvalidCallError`` if something is left."""
        if self._next():
            raise self._error()

    def either(self) -> Condition:
        """Read conditions joined by OR."""
        return self._joined("OR", self._both, any)

    def _both(self) -> Condition:
        return self._joined("AND", self._negated, all)

    def _joined(self, word: str, read: Callable[[], Condition], join: Callable[[Iterable[bool]], bool]) -> Condition:
        parts = [read()]
        while self.takes(word):
            parts.append(read())
        if len(parts) == 1:
            return parts[0]
        return lambda item, scope: join(part(item, scope) for part in parts)

    def _negated(self) -> Condition:
        if self.takes("NOT"):
            negated = self._negated()
            return lambda item, scope: not negated(item, scope)
        if self.takes("("):
            inner = self.either()
            self._expect(")")
            return inner
        return self._comparison()

    def _comparison(self) -> Condition:
        if self._peek(1) == "(" and self._next().lower() in _FUNCTIONS:
            return self._function()
        left = self._operand()
        if self.takes("BETWEEN"):
            low = self._operand()
            self._expect("AND")
            high = self._operand()
            return lambda item, scope: (
                _ordered(ge, left(item, scope), low(item, scope)) and _ordered(le, left(item, scope), high(item, scope))
            )
        if self.takes("IN"):
            members = self._arguments()
            return lambda item, scope: left(item, scope) in [one(item, scope) for one in members]
        compare = _COMPARISONS.get(self._take())
        if compare is None:
            raise self._error(-1)
        right = self._operand()
        return lambda item, scope: compare(left(item, scope), right(item, scope))

    def _function(self) -> Condition:
        test, number = _FUNCTIONS[self._take().lower()]
        arguments = self._arguments()
        if len(arguments) != number:
            raise InvalidCallError(f"Incorrect number of operands for a function in: {self._text}")
        return lambda item, scope: test(*(one(item, scope) for one in arguments))

    def _arguments(self) -> list[Operand]:
        self._expect("(")
        found = [self._operand()]
        while self.takes(","):
            found.append(self._operand())
        self._expect(")")
        return found

    def _operand(self) -> Operand:
        if self._peek(1) == "(":
            function = _OPERANDS.get(self._take().lower())
            if function is None:
                raise InvalidCallError(f"Invalid function name; function: {self._tokens[self._at - 1]}")
            arguments = self._arguments()
            return lambda item, scope: function(*(one(item, scope) for one in arguments))
        if self._next().startswith(":"):
            token = self._take()
            return lambda _, scope: scope.value(token)
        path = self.path()
        if len(path) == 1:
            name = str(path[0])
            return lambda item, scope: item.get(scope.name(name))
        return lambda item, scope: _at(item, _names(path, scope))

    def path(self) -> Path:
        """Read the path of an attribute."""
        parts: list[str | int] = [self._name()]
        while self._next() in {".", "["}:
            if self.takes("."):
                parts.append(self._name())
            else:
                self._expect("[")
                parts.append(int(self._take()))
                self._expect("]")
        return tuple(parts)

    def _name(self) -> str:
        token = self._take()
        if not token or not (token[0].isalpha() or token[0] in "#_"):
            raise self._error(-1)
        if token.upper() in _RESERVED:
            raise InvalidCallError(f"Attribute name is a reserved keyword; reserved keyword: {token}")
        return token

    def key_condition(self) -> KeyCondition:
        """Read one comparison of a key."""
        if self._next().lower() == "begins_with":
            self._take()
            self._expect("(")
            name = self._name()
            self._expect(",")
            value = self._placeholder()
            self._expect(")")
            return KeyCondition(name, "begins_with", (value,))
        name, operator = self._name(), self._take().upper()
        if operator == "BETWEEN":
            low = self._placeholder()
            self._expect("AND")
            return KeyCondition(name, operator, (low, self._placeholder()))
        if operator not in {"=", "<", "<=", ">", ">="}:
            raise InvalidCallError(f"Invalid operator used in KeyConditionExpression: {operator}")
        return KeyCondition(name, operator, (self._placeholder(),))

    def _placeholder(self) -> str:
        token = self._take()
        if not token.startswith(":"):
            raise self._error(-1)
        return token

    def update(self) -> Update:
        """Read the clauses of an update."""
        sets: list[tuple[Path, Operand]] = []
        removes: list[Path] = []
        changes: dict[str, list[tuple[Path, str]]] = {"ADD": [], "DELETE": []}
        seen: set[str] = set()
        while self._next():
            clause = self._take().upper()
            if clause in seen or clause not in {"SET", "REMOVE", *changes}:
                raise self._error(-1)
            seen.add(clause)
            for _ in self._commas():
                path = self.path()
                if clause == "SET":
                    self._expect("=")
                    sets.append((path, self._sum()))
                elif clause == "REMOVE":
                    removes.append(path)
                else:
                    changes[clause].append((path, self._placeholder()))
        if not seen:
            raise self._error()
        return Update(tuple(sets), tuple(removes), tuple(changes["ADD"]), tuple(changes["DELETE"]))

    def _commas(self) -> Iterator[None]:
        yield
        while self.takes(","):
            yield

    def _sum(self) -> Operand:
        left = self._operand()
        for sign, compute in (("+", plus), ("-", minus)):
            if self.takes(sign):
                right = self._operand()
                return lambda item, scope, compute=compute: _computed(  # type: ignore[misc] # of this turn
                    compute, left(item, scope), right(item, scope)
                )
        return left

    def _next(self) -> str:
        return self._peek(0)

    def _peek(self, further: int) -> str:
        at = self._at + further
        return self._tokens[at] if at < len(self._tokens) else ""

    def _take(self) -> str:
        self._at += 1
        return self._peek(-1)

    def _expect(self, token: str) -> None:
        if not self.takes(token):
            raise self._error()

    def _error(self, further: int = 0) -> InvalidCallError:
        return InvalidCallError(
            f'Invalid expression: Syntax error; token: "{self._peek(further)}", near: "{self._text}"'
        )


# ---------------------------------------------------------------- values


def _ordered(compare: Callable[[Any, Any], bool], left: Value | None, right: Value | None) -> bool:
    """Compare two values of one type that has an order; others are in none."""
    if left is None or right is None or left.keys() != right.keys() or not left.keys() <= _ORDERED:
        return False
    return compare(sortable(left), sortable(right))


def _between(value: Value | None, low: Value | None, high: Value | None) -> bool:
    if _ordered(gt, low, high):
        raise InvalidCallError("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
    return _ordered(ge, value, low) and _ordered(le, value, high)


def _comparing(compare: Callable[[Any, Any], bool]) -> Callable[[Value | None, Value | None], bool]:
    return lambda left, right: _ordered(compare, left, right)


_COMPARISONS: Final[Mapping[str, Callable[[Value | None, Value | None], bool]]] = {
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


_FUNCTIONS: Final[Mapping[str, tuple[Callable[..., bool], int]]] = {
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


_OPERANDS: Final[Mapping[str, Callable[..., Value | None]]] = {
    "size": _size,
    "if_not_exists": lambda value, other: other if value is None else value,
    "list_append": _list_append,
}


def _computed(compute: Callable[[str, str], str], left: Value | None, right: Value | None) -> Value | None:
    if left is None or right is None:
        return None
    if "N" not in left or "N" not in right:
        raise InvalidCallError("An operand in the update expression has an incorrect data type")
    return {"N": compute(left["N"], right["N"])}


def _sum(value: Value | None, added: Value) -> Value:
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


def _names(path: Path, scope: Scope) -> Path:
    return tuple(scope.name(part) if isinstance(part, str) else part for part in path)


def _at(item: Item, names: Path) -> Value | None:
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


def _replaced(members: Any, names: Path, value: Value) -> Any:  # noqa: ANN401 - an item, a map or a list
    """Return members with a value at a path; what is not on the path is shared with the old ones."""
    name, rest = names[0], names[1:]
    if rest:
        inner = members.get(name) if isinstance(name, str) else (members[name] if name < len(members) else None)
        kind, inner_members = _within(inner, rest[0])
        value = {kind: _replaced(inner_members, rest, value)}
    if isinstance(name, str):
        return {**members, name: value}
    return [*members[:name], value, *members[name + 1 :]]


def _removed(members: Any, names: Path) -> Any:  # noqa: ANN401 - as above
    """Return members without what is at a path."""
    name, rest = names[0], names[1:]
    if rest:
        inner = members.get(name) if isinstance(name, str) else (members[name] if name < len(members) else None)
        kind, inner_members = _within(inner, rest[0])
        return _replaced(members, (name,), {kind: _removed(inner_members, rest)})
    if isinstance(name, str):
        return {other: value for other, value in members.items() if other != name}
    return [*members[:name], *members[name + 1 :]]


def _without_members(members: Any, names: Path, value: Value | None, deleted: Value) -> Any:  # noqa: ANN401 - as above
    """Return an item without some members of a set; an empty set is no attribute."""
    ((kind, content),) = deleted.items()
    if kind not in _SET_TYPES:
        raise InvalidCallError("Incorrect operand type for operator or function; operator: DELETE")
    if value is None:
        return members
    if kind not in value:
        raise InvalidCallError("An operand in the update expression has an incorrect data type")
    left: Sequence[str] = [one for one in value[kind] if one not in content]
    return _replaced(members, names, {kind: left}) if left else _removed(members, names)


def _last_number(names: Path) -> int:
    last = names[-1]
    return last if isinstance(last, int) else -1
