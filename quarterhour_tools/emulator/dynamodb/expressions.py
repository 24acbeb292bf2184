"""DynamoDB's expressions: conditions, updates, key conditions and projections.

A text is read once, into a function of an item and the placeholders of one call. A part of the language that is not
known here is an error that names it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

from quarterhour_tools.emulator.dynamodb.errors import InvalidCallError
from quarterhour_tools.emulator.dynamodb.operands import (
    COMPARISONS,
    FUNCTIONS,
    OPERANDS,
    Path,
    added,
    between,
    computed,
    last_number,
    removed,
    replaced,
    value_at,
    without_members,
)
from quarterhour_tools.emulator.dynamodb.values import Item, Value, minus, plus


class Placeholders(NamedTuple):
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


Condition = Callable[[Item, Placeholders], bool]
Operand = Callable[[Item, Placeholders], Value | None]
"""Returns the value of an operand; ``None`` for an attribute that the item lacks."""


_TOKEN: Final = re.compile(r"\s*(?:([#:]?\w+)|(<=|>=|<>|[=<>(),.\[\]+-]))")
_RESERVED: Final = frozenset(ReservedKeywords.get_reserved_keywords())


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


class UpdateExpression(NamedTuple):
    """An update: what is set, removed, added to numbers and sets, and deleted from sets."""

    sets: tuple[tuple[Path, Operand], ...]
    removes: tuple[Path, ...]
    adds: tuple[tuple[Path, str], ...]
    deletes: tuple[tuple[Path, str], ...]

    def apply(self, item: Item, scope: Placeholders) -> Item:
        """Return the item after the update; every operand is that of the item before."""
        found: Any = item
        for path, operand in self.sets:
            value = operand(item, scope)
            if value is None:
                raise InvalidCallError("The provided expression refers to an attribute that does not exist in the item")
            found = replaced(found, _names(path, scope), value)
        for path, token in self.adds:
            names = _names(path, scope)
            found = replaced(found, names, added(value_at(item, names), scope.value(token)))
        for path, token in self.deletes:
            names = _names(path, scope)
            found = without_members(found, names, value_at(item, names), scope.value(token))
        # The numbers of a list are those before the update: so the last of them goes first.
        for names in sorted((_names(path, scope) for path in self.removes), key=last_number, reverse=True):
            found = removed(found, names)
        item_after: Item = found
        return item_after

    def names(self, scope: Placeholders) -> set[str]:
        """Return the attributes that the update changes."""
        changed = [path for path, _ in (*self.sets, *self.adds, *self.deletes)] + list(self.removes)
        return {scope.name(str(path[0])) for path in changed}


@lru_cache(maxsize=1000)
def update(text: str) -> UpdateExpression:
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
        if self._peek(1) == "(" and self._next().lower() in FUNCTIONS:
            return self._function()
        left = self._operand()
        if self.takes("BETWEEN"):
            low = self._operand()
            self._expect("AND")
            high = self._operand()
            return lambda item, scope: between(left(item, scope), low(item, scope), high(item, scope))
        if self.takes("IN"):
            members = self._arguments()
            return lambda item, scope: left(item, scope) in [one(item, scope) for one in members]
        compare = COMPARISONS.get(self._take())
        if compare is None:
            raise self._error(-1)
        right = self._operand()
        return lambda item, scope: compare(left(item, scope), right(item, scope))

    def _function(self) -> Condition:
        test, number = FUNCTIONS[self._take().lower()]
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
            function = OPERANDS.get(self._take().lower())
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
        return lambda item, scope: value_at(item, _names(path, scope))

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

    def update(self) -> UpdateExpression:
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
        return UpdateExpression(tuple(sets), tuple(removes), tuple(changes["ADD"]), tuple(changes["DELETE"]))

    def _commas(self) -> Iterator[None]:
        yield
        while self.takes(","):
            yield

    def _sum(self) -> Operand:
        left = self._operand()
        for sign, compute in (("+", plus), ("-", minus)):
            if self.takes(sign):
                right = self._operand()
                return lambda item, scope, compute=compute: computed(  # type: ignore[misc] # of this turn
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


def _names(path: Path, scope: Placeholders) -> Path:
    return tuple(scope.name(part) if isinstance(part, str) else part for part in path)
