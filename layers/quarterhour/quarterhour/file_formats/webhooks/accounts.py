"""Completes events that name no agency, or no currency: they have those of the recorded event to which they refer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quarterhour.file_formats.webhooks.payload import PayloadError
from quarterhour.model.identifiers import Account, Identity


def incomplete(events: Iterable[Mapping[str, Any]]) -> list[Identity]:
    """Return the identities of the recorded events whose accounts some events need, each once."""
    needed = (_referred(one) for one in events if not _is_complete(one))
    return list(dict.fromkeys(one for one in needed if one))


def completed(events: Sequence[dict[str, Any]], accounts: Mapping[Identity, Account]) -> list[dict[str, Any]]:
    """Return events with the accounts of those to which they refer: of recorded ones, or of others among them.

    Raises ``PayloadError`` if such an account is not known.
    """
    known = dict(accounts)
    made = []
    for one in events:
        event = one if _is_complete(one) else _completed(one, known)
        known.setdefault(Identity(event["source"], event["id"]), Account(event["subject"], event["data"]["currency"]))
        made.append(event)
    return made


def _is_complete(event: Mapping[str, Any]) -> bool:
    return "subject" in event and "currency" in event["data"]


def _referred(event: Mapping[str, Any]) -> Identity | None:
    refers_to = event["data"].get("refers_to")
    return Identity(event["source"], refers_to) if refers_to else None


def _completed(event: dict[str, Any], known: Mapping[Identity, Account]) -> dict[str, Any]:
    referred = _referred(event)
    account = known.get(referred) if referred else None
    if account is None:
        raise PayloadError(f"{referred or event['id']} is not recorded yet, so that no agency is known")
    return {"subject": account.agency, **event, "data": {"currency": account.currency, **event["data"]}}
