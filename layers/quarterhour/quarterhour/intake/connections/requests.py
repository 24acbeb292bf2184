"""The bodies of requests about connections."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from quarterhour.file_formats.webhooks.delivery import AgencyRule, MapSettings, Provider
from quarterhour.intake.connections.connection import (
    EXCLUDED,
    INCLUDED,
    LONGEST_MAP,
    LONGEST_SECRET,
    SHORTEST_SECRET,
)
from quarterhour.intake.connections.signatures import WHSEC, webhook_key
from quarterhour.model import fields
from quarterhour.model.fields import NAME, Fields

_KNOWN: Final = frozenset({"provider", "secret", "agency", "source", "tax", "shipping", "test", "map", "seen"})
_WORDS: Final = f"{INCLUDED} or {EXCLUDED}"
_AGENCY: Final = 'a name, or {"field": "vendor"}, or {"external_id": "vendor"}, by the ids in the registry of agencies'
_SECRET: Final = f"{SHORTEST_SECRET} to {LONGEST_SECRET} visible ASCII characters, as the provider shows them"
_STANDARD_SECRET: Final = f"{WHSEC} and 24 to 64 bytes in Base64"
_KEY_BYTES: Final = range(24, 65)
_SEEN: Final = "the version of the connection that was seen, a whole number, or 0 for a new one"
_MAP: Final = f"a map as docs/csv.md describes it, of at most {LONGEST_MAP:,} bytes"


class ConnectionRequest(NamedTuple):
    """What a connection is to be. ``secret``: empty to keep the one that it has.

    ``seen``: the version that it changes, 0 for a new one; ``None`` for whatever is there.
    """

    provider: Provider
    secret: str
    settings: MapSettings
    seen: int | None = None


def read_connection(body: Mapping[str, Any]) -> ConnectionRequest:
    """Return the connection in a request's body; raise ``InvalidError`` with every problem in it."""
    outer = Fields(body)
    outer.report_unknown(_KNOWN)
    provider = outer.value("provider", " or ".join(Provider), fields.member(Provider))
    is_generic = provider is Provider.GENERIC
    secret = outer.value(
        "secret", _STANDARD_SECRET if is_generic else _SECRET, _standard if is_generic else _secret, optional=True
    )
    agency = outer.value("agency", _AGENCY, _agency, optional=True)
    if provider and not is_generic and body.get("agency") is None:
        outer.problem("agency", "is missing", _AGENCY)
    if is_generic and agency:
        outer.problem("agency", "is given", "none: each CloudEvent names its agency as its subject")
    words = {name: outer.value(name, _WORDS, _word, optional=True) for name in ("tax", "shipping", "test")}
    settings = MapSettings(
        agency=agency or AgencyRule(),
        source=outer.value("source", NAME, fields.name, optional=True) or "",
        with_tax=words["tax"],
        with_shipping=bool(words["shipping"]),
        with_test=bool(words["test"]),
        map=outer.value("map", _MAP, _map, optional=True) or "",
    )
    seen = outer.value("seen", _SEEN, fields.whole, optional=True)
    fields.refuse(outer.problems, "provider, secret and agency, and perhaps source, tax, shipping, test and map")
    return ConnectionRequest(provider, secret or "", settings, seen)


def _word(value: object) -> bool | None:
    return value == INCLUDED if value in {INCLUDED, EXCLUDED} else None


def _secret(value: object) -> str | None:
    """Return a secret; no message shows what was sent."""
    fits = isinstance(value, str) and SHORTEST_SECRET <= len(value) <= LONGEST_SECRET and value.isascii()
    if not isinstance(value, str) or not fits or not value.isprintable() or " " in value:
        raise ValueError("is not a secret of this provider")
    return value


def _standard(value: object) -> str | None:
    secret = _secret(value)
    try:
        fits = secret is not None and len(webhook_key(secret)) in _KEY_BYTES
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("is not a secret of the Standard Webhooks specification")
    return secret


def _agency(value: object) -> AgencyRule | None:
    match value:
        case str():
            fixed = fields.name(value)
            return AgencyRule(fixed=fixed) if fixed else None
        case {"field": str(path), **others} if not others:
            named = fields.label(path)
            return AgencyRule(field=named) if named else None
        case {"external_id": str(path), **others} if not others:
            named = fields.label(path)
            return AgencyRule(field=named, is_external=True) if named else None
        case _:
            return None


def _map(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    if len(value.encode(errors="surrogatepass")) > LONGEST_MAP:
        return None
    # Loaded for a map of the connection's own alone, so that a function starts without it.
    from quarterhour.file_formats.webhooks.own_map import check  # noqa: PLC0415

    if value:
        check(value)
    return value
