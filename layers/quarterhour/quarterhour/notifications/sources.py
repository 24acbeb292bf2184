"""What happened, read from changes of the Entity table, and from messages about manifests and alarms. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote_plus

from quarterhour.aws.items import from_item
from quarterhour.aws.streams import Poison, Record, new_image, old_image
from quarterhour.ledger.keys import HELD, HeldStatus, held_identity_of
from quarterhour.model.identifiers import SEPARATOR, Identity
from quarterhour.notifications.notification import Notification, NotificationKind
from quarterhour.reports.keys import MANIFEST, REPORTS
from quarterhour.statements.keys import period_of_manifest
from quarterhour.statements.releases.keys import release_of_manifest

STATEMENTS: Final = f"STATEMENTS{SEPARATOR}"
"""The prefix of the partition keys of statements, and of the changes of their statuses."""
WAKE: Final = json.dumps({"wake": True})
"""The message that only says that the log has more notifications."""
_ALARM: Final = "CloudWatch Alarm State Change"
_BY_RELEASE: Final = frozenset({"cancelled", "issued"})
"""The statuses that a statement has by the release of a document, which is announced itself."""


def of_changes(records: Iterable[Record]) -> tuple[list[Notification], list[Poison]]:
    """Return what records of the Entity table's stream say, in their order, and the records that cannot be read."""
    found: list[Notification] = []
    poison: list[Poison] = []
    for record in records:
        try:
            found += _of_change(record)
        except (KeyError, ValueError, TypeError) as error:
            poison.append(Poison(record, f"no notification can be made of it: {error!r}"))
    return found, poison


def _of_change(record: Record) -> list[Notification]:
    pk: str = record["dynamodb"]["Keys"]["pk"]["S"]
    if pk.startswith(HELD):
        return _of_held(record)
    values = from_item(new_image(record))
    if "documents" not in values:
        return _of_status(values)
    # Each release adds a document to the item of a statement: a credit note that cancels it, or the next statement.
    before = from_item(old_image(record))["documents"] if record["eventName"] == "MODIFY" else ()
    known = {one["number"] for one in before}
    return [_of_document(one) for one in values["documents"] if one["number"] not in known]


def _of_held(record: Record) -> list[Notification]:
    """Return what the change of a held event says.

    Its item is removed when it is recorded. It changes when it is tried again, and when it is discarded.
    """
    removed = record["eventName"] == "REMOVE"
    values = from_item(old_image(record) if removed else new_image(record))
    identity, at = held_identity_of(values), values["held_at"]
    if removed:
        kind = NotificationKind.EVENT_POSTED if values["status"] == HeldStatus.HELD else None
    elif record["eventName"] == "INSERT":
        kind = NotificationKind.EVENT_HELD
    else:
        was = from_item(old_image(record))["status"]
        kind = (
            NotificationKind.EVENT_DISCARDED
            if (was, values["status"]) == (HeldStatus.HELD, HeldStatus.DISCARDED)
            else None
        )
    if kind is None:
        return []
    data = {"source": identity.source, "id": identity.id, "event_type": values["type"], "href": _event(identity)}
    if kind is NotificationKind.EVENT_HELD:
        data["reason"] = values["reason"]
    return [Notification.of(kind, data, str(identity), at, agency=values["agency"])]


def _of_document(document: Mapping[str, Any]) -> Notification:
    agency, data = _statement(document)
    data |= {"number": document["number"]} | ({"cancels": document["cancels"]} if document["cancels"] else {})
    return Notification.of(NotificationKind.STATEMENT_ISSUED, data, document["number"], agency=agency)


def _of_status(values: Mapping[str, Any]) -> list[Notification]:
    if values["status"] in _BY_RELEASE and "line" not in values:
        return []
    agency, data = _statement(values)
    data["status"] = values["status"]
    parts = (data["period"], values["sk"])
    return [Notification.of(NotificationKind.STATEMENT_ANSWERED, data, *parts, agency=agency)]


def _statement(values: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the agency of a statement, and its other names and its path, from values that name it."""
    period, agency, currency = (values[name] for name in ("period", "agency", "currency"))
    return agency, {"currency": currency, "period": period, "href": _path("statements", agency, currency, period)}


def of_message(body: str) -> list[Notification]:
    """Return what a message of the queue says: S3's about new manifests, EventBridge's about an alarm, or nothing.

    Raises ``ValueError`` for a message of another form.
    """
    message = json.loads(body)
    match message:
        case {"Records": list(records)}:
            keys = (unquote_plus(record["s3"]["object"]["key"]) for record in records)
            return [one for key in keys if (one := of_manifest(key))]
        case {"detail-type": str(kind), "detail": {"alarmName": str(alarm), "state": {"timestamp": str(at)}}} if (
            kind == _ALARM
        ):
            return [
                Notification.of(NotificationKind.RECORDS_PARKED, {"alarm": alarm, "href": "/operations"}, alarm, at)
            ]
        case {"wake": True} | {"Event": "s3:TestEvent"}:
            return []
    raise ValueError("the message is neither about a manifest nor about an alarm")


def of_manifest(key: str) -> Notification | None:
    """Return what the object key of a new manifest says; ``None`` for another file."""
    if release := release_of_manifest(key):
        return Notification.of(
            NotificationKind.RELEASE_SEALED, {"release": str(release), "href": "/releases"}, str(release)
        )
    if period := period_of_manifest(key):
        href = f"/drafts?period={period}"
        return Notification.of(NotificationKind.DRAFTS_SEALED, {"period": str(period), "href": href}, str(period))
    if key.startswith(REPORTS) and key.endswith(f"/{MANIFEST}"):
        year, month, day, times = key.removeprefix(REPORTS).removesuffix(f"/{MANIFEST}").split("/")
        run = f"{year}-{month}-{day}T{times}"
        return Notification.of(NotificationKind.REPORT_SEALED, {"run": run, "href": _path("reports", run)}, run)
    return None


def _event(identity: Identity) -> str:
    return _path("events", identity.source, identity.id)


def _path(*parts: str) -> str:
    """Return a path of the API; a name that needs encoding is encoded twice, because API Gateway decodes it once."""
    return "".join(f"/{quote(quote(part, safe=''), safe='')}" for part in parts)
