"""CloudEvents as shops send them: the one place that builds them."""

from collections.abc import Mapping
from typing import Any, Final

Cloud = dict[str, Any]

ABSENT: Final = object()
"""Stands for a field that is left out."""


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not left out."""
    return {name: value for name, value in fields.items() if value is not ABSENT}


def cloud_event(id_: str, type_: str, subject: str, **data: object) -> Cloud:
    """Return a CloudEvent of the shop."""
    return {"specversion": "1.0", "id": id_, "source": "shop", "type": type_, "subject": subject, "data": present(data)}


def sale(
    id_: str = "order-1",
    amount: object = "12.50",
    type_: str = "sale.recorded",
    *,
    agency: str = "42",
    currency: str = "GBP",
    **data: object,
) -> Cloud:
    """Return a CloudEvent of a sale, or of another type with an amount."""
    return cloud_event(id_, type_, agency, amount=amount, currency=currency, **data)


def refund(id_: str, amount: str, of: str | None = "order-1", **data: Any) -> Cloud:
    """Return a CloudEvent of a refund; ``of`` is the sale that it is linked to, if any."""
    return sale(id_, amount, "sale.refunded", **data, **({"refers_to": of} if of else {}))


def void(
    id_: str = "v1",
    of: object = "order-1",
    reason: object = "sold twice",
    *,
    agency: str = "42",
    currency: str = "GBP",
    **data: object,
) -> Cloud:
    """Return a CloudEvent of a void of a sale."""
    return cloud_event(id_, "sale.voided", agency, currency=currency, refers_to=of, reason=reason, **data)


def adjustment(id_: str, commission: object, of: str | None = None, **data: Any) -> Cloud:
    """Return a CloudEvent of an adjustment of commission alone; ``of`` is the sale that it refers to, if any."""
    linked = {"refers_to": of} if of else {}
    return sale(id_, "0", "adjustment.recorded", commission=commission, **data, **linked)


def rerating(
    id_: str = "rr1",
    of: object = "order-1",
    version: object = 1,
    rate_card: object = "rate-card:42",
    *,
    agency: str = "42",
    **data: object,
) -> Cloud:
    """Return a CloudEvent that charges a sale by a version of another rate card."""
    applied = {"rate_card": rate_card, "version": version, "by": "ann"}
    facts = {"currency": "GBP", "refers_to": of, "reason": "new contract", "rerating": applied, **data}
    return cloud_event(id_, "adjustment.recorded", agency, **facts)


def payment(id_: str = "p1", amount: object = "100.00", **data: Any) -> Cloud:
    """Return a CloudEvent of a payment by an agency, or to it if the amount is negative."""
    return sale(id_, amount, "payment.recorded", **data)


def by_sign(id_: str, amount: str, **data: Any) -> Cloud:
    """Return a CloudEvent of a sale, or of an unlinked refund where the amount is negative."""
    return sale(id_, amount, "sale.refunded" if amount.startswith("-") else "sale.recorded", **data)


def view(id_: str, page: str, viewer: str) -> Cloud:
    """Return a CloudEvent of a page that somebody looked at."""
    return cloud_event(id_, "view.recorded", page, customer=viewer)
