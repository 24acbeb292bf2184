"""Permissions to read a document or a report: the marketplace reads all, people of agencies what they may read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.model import fields
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ForbiddenError
from quarterhour.model.fields import NAME, TEXT, Fields
from quarterhour.registry.documents.keys import permissions_key
from quarterhour.registry.documents.plan import DocumentKind
from quarterhour.web.access import Caller

if TYPE_CHECKING:
    from quarterhour.registry.documents import api

MOST: Final = 200
"""The largest number of names in each of the two lists, so that both always fit into an item."""
_BODY: Final = frozenset({"agencies", "people"})


@dataclass(frozen=True, slots=True)
class Permissions:
    """The agencies and the people who may read; nobody if permissions were never written."""

    agencies: tuple[str, ...] = ()
    people: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any] | None) -> Self:
        """Return the permissions in a document's item, or those of nobody if there is none."""
        return cls(*(tuple(values[name]) for name in ("agencies", "people"))) if values else cls()

    def as_dict(self) -> "api.Readers":
        """Return the permissions as they are stored and shown."""
        return {"agencies": list(self.agencies), "people": list(self.people)}


def may_read(permissions: Permissions, caller: Caller) -> bool:
    """Return whether these permissions let a caller read."""
    return (
        caller.is_of_marketplace or any(map(caller.may_see, permissions.agencies)) or caller.name in permissions.people
    )


def check_writer(document: str, caller: Caller, kinds: Sequence[DocumentKind]) -> None:
    """Raise ``ForbiddenError`` if a caller may not write a document; people write those of some kinds only."""
    by_people = [kind for kind in kinds if kind.by_people]
    if not caller.is_machine and not any(kind.covers(document) for kind in by_people):
        names = ", ".join(sorted(kind.name for kind in by_people))
        raise ForbiddenError(f"people write documents of the kinds {names} here: sign the request with IAM")


def read_permissions(body: Mapping[str, Any]) -> Permissions:
    """Return the permissions in a request's body; raise ``InvalidError`` with every problem in it."""
    outer = Fields(body)
    outer.report_unknown(_BODY)
    agencies = outer.value("agencies", f"a list of at most {MOST} agencies, each {NAME}", _agencies)
    people = outer.value("people", f"a list of at most {MOST} subjects of tokens, each {TEXT}", _people)
    fields.refuse(outer.problems, "agencies and people")
    return Permissions(agencies, people)


def permissions_values(document: str, permissions: Permissions, by: str, now: datetime) -> dict[str, Any]:
    """Return the item that stores a document's permissions."""
    return {
        **permissions_key(document),
        **permissions.as_dict(),
        "written_at": iso_millis(now),
        "written_by": by,
    }


def _agencies(value: object) -> tuple[str, ...] | None:
    return _names(value, fields.name)


def _people(value: object) -> tuple[str, ...] | None:
    return _names(value, fields.label)


def _names(value: object, read: Callable[[object], str | None]) -> tuple[str, ...] | None:
    names = list(map(read, value)) if isinstance(value, list) and len(value) <= MOST else [None]
    return tuple(sorted(set(filter(None, names)))) if all(names) else None
