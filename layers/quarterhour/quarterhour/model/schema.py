"""The marker ``schema`` of stored forms: items, plans, manifests, drafts and statements."""

from decimal import Decimal
from typing import Final

from quarterhour.model.errors import QuarterhourError

SCHEMA: Final = 1
"""The schema of every form that this version stores, and the only one that it reads."""


class UnknownSchemaError(QuarterhourError, ValueError):
    """A stored form has a schema that this version cannot read; the message says which version can."""


def check_schema(found: object) -> None:
    """Check the schema of a stored form; raise ``UnknownSchemaError`` if this version cannot read the form.

    ``found``: the value of the form's ``schema``, ``None`` if it has none.
    """
    if not isinstance(found, int | Decimal) or isinstance(found, bool) or found < SCHEMA or found % 1:
        raise UnknownSchemaError(f"the schema {found} is unknown: no version has written it, so somebody changed it")
    if found > SCHEMA:
        raise UnknownSchemaError(f"the schema {found} is unknown: use the version that wrote it, or a later one")
