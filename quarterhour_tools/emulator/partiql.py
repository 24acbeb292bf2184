"""PartiQL's ``INSERT`` of one item whose values are all parameters: the only statement that the functions send."""

import re
from collections.abc import Mapping
from typing import Any, Final

_INSERT: Final = re.compile(r'INSERT INTO "(?P<table>[^"]+)" VALUE \{(?P<attributes>.*)\}')
_ATTRIBUTE: Final = re.compile(r"'([^']+)': \?")


def insertion(statement: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the table and the item of a statement of ``BatchExecuteStatement``.

    Raises ``ValueError`` for every other statement.
    """
    match = _INSERT.fullmatch(statement["Statement"])
    names = _ATTRIBUTE.findall(match["attributes"]) if match else []
    values = statement.get("Parameters", [])
    if match is None or len(names) != len(values) or len(names) != match["attributes"].count("?"):
        raise ValueError(f"{statement['Statement']!r} is no INSERT of {len(values)} parameters")
    return match["table"], dict(zip(names, values, strict=True))
