"""A delivery of a connection, and what a map makes of it. Pure values."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple


class Provider(StrEnum):
    """Who sends the webhooks of a connection. Each has a module of its name in this folder."""

    SHOPIFY = "shopify"
    STRIPE = "stripe"
    WOOCOMMERCE = "woocommerce"
    GENERIC = "generic"
    """Anybody who signs by the Standard Webhooks specification."""


class AgencyRule(NamedTuple):
    """How the agency of a line is found: it is always ``fixed``, or what the payload has in ``field``.

    ``is_external``: the text of the field is an external id of the agency in the registry, else the agency's name.
    """

    fixed: str = ""
    field: str = ""
    is_external: bool = False


class MapSettings(NamedTuple):
    """What a connection says about its map.

    ``source``: that of its events; empty for the source of the provider's export file. ``with_tax`` and
    ``with_shipping``: whether they are part of the amounts. ``None`` for ``with_tax``: as the shop's prices have it,
    which is the amount that the export file has. ``with_test``: whether test deliveries are recorded.
    ``map``: the text of a map of the connection's own, or empty.
    """

    agency: AgencyRule = AgencyRule()
    source: str = ""
    with_tax: bool | None = None
    with_shipping: bool = False
    with_test: bool = False
    map: str = ""


class Delivery(NamedTuple):
    """A signed delivery: what it is about, as the provider names it, and its payload as JSON with exact numbers.

    The signatures of Shopify and WooCommerce do not cover the ``topic``, a header. So a map takes from it no more than
    the payload itself confirms: ``orders/cancelled`` only of an order that is cancelled.
    """

    provider: Provider
    topic: str
    payload: Any
    settings: MapSettings


class Excluded(NamedTuple):
    """What a rule leaves out, by currency; no amounts if it is about no money."""

    rule: str
    amounts: Mapping[str, Decimal] = {}


class Mapped(NamedTuple):
    """What a map makes of a delivery: CloudEvents, and what its rules leave out.

    An event that refers to a recorded one and has no ``subject`` has the agency of that; one that is a void and has no
    currency, its currency, too. With a ``problem``, the delivery is parked as a whole, and nothing of it is recorded.
    """

    events: Sequence[dict[str, Any]] = ()
    excluded: Sequence[Excluded] = ()
    problem: str | None = None
