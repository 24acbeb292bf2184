"""What changes of statements say: each document that a release adds, and each answer, once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from quarterhour.aws.items import to_item
from quarterhour.aws.streams import Record
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.notifications.sources import of_changes
from quarterhour.statements.releases.items import statement_item
from quarterhour.statements.status.plan import Party, StatementChange, StatementDecision, StatementName, Status
from tests.support.stored_statements import document

FIRST: Final = document()
CANCELLATION: Final = replace(FIRST, number="C-000001", revision=2, release=2, cancels="S-000001")
NEXT: Final = replace(FIRST, number="S-000002", revision=3, release=3)
NAME: Final = StatementName(Period(2026, 10), Account("42", "GBP"))
HREF: Final = "/statements/42/GBP/2026-10"


def changed(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Record:
    """Return the record of a write."""
    keys = {name: {"S": new[name]} for name in ("pk", "sk")}
    images = {"NewImage": to_item(new)} | ({"OldImage": to_item(old)} if old else {})
    return {"eventName": "MODIFY" if old else "INSERT", "dynamodb": {"Keys": keys, **images}}


def status(status: Status, number: int, line: Identity | None = None) -> Record:
    """Return the record of a change of the statement's status."""
    decision = StatementDecision("ann", Party.MARKETPLACE, "2026-11-05T10:00:00.000Z", "wrong name")
    return changed(None, StatementChange(status, decision, line).as_item(NAME, number))


def said(*records: Record) -> list[tuple[str, Mapping[str, str]]]:
    """Return kind and content of what records say."""
    found, poison = of_changes(records)
    assert (poison, {one.agency for one in found} <= {"42"}) == ([], True)
    assert len({one.id for one in found}) == len(found)
    return [(one.kind.value, one.data) for one in found]


def test_each_document_of_a_statement_is_announced_once_with_its_number() -> None:
    items: list[dict[str, Any]] = []
    for one in (FIRST, CANCELLATION, NEXT):
        items.append(statement_item(one, QuarterHour.parse("202611040000"), items[-1] if items else None))
    first, cancelled, again = items
    own = {"currency": "GBP", "period": "2026-10", "href": HREF}
    assert said(
        changed(None, first),
        changed(first, cancelled),
        status(Status.CANCELLED, 1),
        changed(cancelled, again),
        status(Status.ISSUED, 2),
    ) == [
        ("statement.issued", {**own, "number": "S-000001"}),
        ("statement.issued", {**own, "number": "C-000001", "cancels": "S-000001"}),
        ("statement.issued", {**own, "number": "S-000002"}),
    ]
    assert said(changed(again, {**again, "release": 4})) == [], "no document is new"


def test_answers_are_announced_and_so_is_a_line_resolved_after_the_cancellation() -> None:
    line = Identity("shop", "e-1")
    found = said(status(Status.DISPUTED, 1, line), status(Status.CANCELLED, 2), status(Status.CANCELLED, 3, line))
    assert [(kind, data["status"]) for kind, data in found] == [
        ("statement.answered", "disputed"),
        ("statement.answered", "cancelled"),
    ]
