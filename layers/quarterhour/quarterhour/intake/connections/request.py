"""What the request of a delivery says beside its events: topic, test, when it happened. Pure functions."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple, Self

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.intake.connections.signatures import Headers
from quarterhour.model import exact_json
from quarterhour.model.fields import printable
from quarterhour.model.instants import parse_rfc_3339

MAX_BODY: Final = 1 << 20
"""The most bytes of a delivery."""
TEST: Final = "test notification"
"""The rule that excludes test notifications, unless the connection says otherwise."""
_LONGEST_TOPIC: Final = 100
TOPICS: Final[Mapping[Provider, str]] = {
    Provider.SHOPIFY: "x-shopify-topic",
    Provider.WOOCOMMERCE: "x-wc-webhook-topic",
}
"""The header that names the topic."""
_TEST: Final = "x-shopify-test"
_TRIGGERED_AT: Final = "x-shopify-triggered-at"
_PING: Final = re.compile(rb"webhook_id=[0-9]{1,18}")
_NO_JSON: Final = "the content is not JSON"
_LATEST: Final = 253_402_300_799
"""The last second of the year 9999."""


class Payload(NamedTuple):
    """The content of a delivery as JSON with exact numbers, or the ``problem`` with it."""

    value: Any = None
    problem: str = ""

    @classmethod
    def of(cls, body: bytes) -> Self:
        """Parse the body of a delivery."""
        try:
            return cls(exact_json.parse(body.decode()))
        except ValueError as error:
            return cls(problem=f"{_NO_JSON}: {printable(error)}")


def is_ping(provider: Provider, body: bytes) -> bool:
    """Return whether this is what WooCommerce sends, unsigned, when a webhook is saved; it must be answered 2xx."""
    return provider is Provider.WOOCOMMERCE and _PING.fullmatch(body) is not None


def topic_of(provider: Provider, headers: Headers, payload: object) -> str:
    """Return what a delivery is about, as the provider names it: a header, or the type of the payload."""
    found = headers.get(TOPICS[provider], "") if provider in TOPICS else _member(payload, "type")
    return printable(found, _LONGEST_TOPIC) if isinstance(found, str) else ""


def is_test(provider: Provider, headers: Headers) -> bool:
    """Return whether a delivery is a test notification by its headers. The maps know test orders and test modes."""
    return provider is Provider.SHOPIFY and headers.get(_TEST, "").lower() == "true"


def delay_of(provider: Provider, headers: Headers, payload: object, now: datetime) -> int | None:
    """Return the seconds since what is delivered happened; ``None`` if the provider does not say it."""
    match provider:
        case Provider.SHOPIFY:
            at = _instant(headers.get(_TRIGGERED_AT))
        case Provider.STRIPE:
            at = _of_seconds(_member(payload, "created"))
        case Provider.WOOCOMMERCE:
            at = _instant(f"{_member(payload, 'date_modified_gmt')}Z")
        case _:
            first: Any = payload[0] if isinstance(payload, list) and payload else payload
            at = _instant(_member(first, "time"))
    return None if at is None else max(0, int((now - at).total_seconds()))


def _member(payload: object, name: str) -> object:
    return payload.get(name) if isinstance(payload, dict) else None


def _instant(text: object) -> datetime | None:
    try:
        return parse_rfc_3339(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _of_seconds(value: object) -> datetime | None:
    fits = isinstance(value, Decimal) and value.is_finite() and 0 <= value <= _LATEST
    return datetime.fromtimestamp(int(value), UTC) if fits and isinstance(value, Decimal) else None
