"""PartiQL's ``INSERT`` and ``UPDATE`` of one item whose values are all parameters: what the functions send."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

_INSERT: Final = re.compile(r'INSERT INTO "(?P<table>[^"]+)" VALUE \{(?P<values>.*)\}')
_INSERTED: Final = re.compile(r"'([^']+)': \?")
_UPDATE: Final = re.compile(r'UPDATE "(?P<table>[^"]+)" SET (?P<values>.*) WHERE (?P<conditions>.*)')
_UPDATED: Final = re.compile(r'"([^"]+)" = \?')


class Insertion(NamedTuple):
    """An item to be inserted, if its key does not exist."""

    table: str
    item: dict[str, Any]


class Update(NamedTuple):
    """Attributes to be set, if the item exists and has the values of ``conditions``, which hold its key."""

    table: str
    values: dict[str, Any]
    conditions: dict[str, Any]

    @property
    def item(self) -> dict[str, Any]:
        """The attributes that are known of the item after the update, its key among them."""
        return {**self.conditions, **self.values}


def parsed(statement: Mapping[str, Any]) -> Insertion | Update:
    """Return what a statement of ``BatchExecuteStatement`` does; raise ``ValueError`` for any other statement."""
    text, parameters = statement["Statement"], statement.get("Parameters", [])
    insert, update = _INSERT.fullmatch(text), _UPDATE.fullmatch(text)
    if insert:
        names = _INSERTED.findall(insert["values"])
        if _are_all(names, text, parameters):
            return Insertion(insert["table"], dict(zip(names, parameters, strict=True)))
    if update:
        names, tested = (_UPDATED.findall(update[part]) for part in ("values", "conditions"))
        if _are_all(names + tested, text, parameters):
            values, conditions = parameters[: len(names)], parameters[len(names) :]
            return Update(
                update["table"], dict(zip(names, values, strict=True)), dict(zip(tested, conditions, strict=True))
            )
    raise ValueError(f"{text!r} is no INSERT or UPDATE with {len(parameters)} parameters")


def _are_all(names: list[str], text: str, parameters: list[Any]) -> bool:
    return len(names) == len(parameters) == text.count("?")
