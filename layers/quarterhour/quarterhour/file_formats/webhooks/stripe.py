"""The map of Stripe's webhooks: charges, refunds and disputes as events.

Payloads: https://docs.stripe.com/api/events/types, https://docs.stripe.com/api/charges/object,
https://docs.stripe.com/api/refunds/object and https://docs.stripe.com/api/disputes/object. What a delivery says depends
on its object alone, whatever its type:

- a charge that succeeded and was captured is a sale of its amount; a capture of less gives the rest back.
- a refund that succeeded is a refund. One that failed or was canceled is voided, as money that comes back.
- a dispute that is not won is a refund; one that was won is voided. An inquiry takes no money.

The events are those of the export file of payments (``file_formats/csv/maps/stripe_payments.toml``), whose source and
ids they have. A refund and a dispute have the agency of their charge if they do not name one, as with Connect.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from quarterhour.file_formats.webhooks.delivery import Delivery, Excluded, Mapped, MapSettings
from quarterhour.file_formats.webhooks.payload import (
    PayloadError,
    agency_in,
    amount_of,
    currency_of,
    event,
    id_of,
    object_of,
    objects,
    plain,
    text_of,
    time_of_seconds,
)
from quarterhour.ledger.events.event import REFUND, SALE, VOID
from quarterhour.model import money
from quarterhour.model.fields import shown

SOURCE: Final = "stripe-payments"
"""The source of the export file's events."""
_NO_DECIMALS: Final = frozenset(
    {"BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"}
)
_THREE_DECIMALS: Final = frozenset({"BHD", "JOD", "KWD", "OMR", "TND"})
"""The currencies whose smallest unit is not a hundredth: https://docs.stripe.com/currencies."""
_REFUNDS_SINCE: Final = "2024-10-28"
"""The version of the API since which each refund has events of its own."""
_WAITING: Final = frozenset({"pending", "requires_action"})
_UNDONE: Final[Mapping[str, str]] = {"failed": "the refund failed", "canceled": "the refund was canceled"}
_DISPUTED: Final = frozenset({"needs_response", "under_review", "lost", "charge_refunded", "prevented"})
_INQUIRY: Final = "warning_"
_OTHERS: Final = "events of other objects than charges, refunds and disputes"


def events_of(delivery: Delivery) -> Mapped:
    """Return the events of a charge, a refund or a dispute; raise ``PayloadError`` if they cannot be read."""
    payload = object_of(delivery.payload)
    data = payload.get("data")
    thing = data.get("object") if isinstance(data, dict) else None
    if not isinstance(thing, dict):
        raise PayloadError("the payload is no event with an object")
    return _Event(payload, thing, delivery.settings).mapped()


class _Event:
    """An event of Stripe, and the object that it is about."""

    def __init__(self, payload: Mapping[str, Any], thing: Mapping[str, Any], settings: MapSettings) -> None:
        self._payload, self._thing, self._settings = payload, thing, settings
        self._source = settings.source or SOURCE

    def mapped(self) -> Mapped:
        """Return the events of the object."""
        made = {"charge": self._charge, "refund": self._refund, "dispute": self._dispute}
        make = made.get(text_of(self._thing.get("object")))
        if make is None:
            return Mapped(excluded=[Excluded(_OTHERS)])
        if self._is_test() and not self._settings.with_test:
            return self._left_out("test mode", self._thing)
        return make(self._thing)

    def _is_test(self) -> bool:
        return self._payload.get("livemode") is False or self._thing.get("livemode") is False

    def _left_out(self, rule: str, thing: Mapping[str, Any]) -> Mapped:
        return Mapped(excluded=[Excluded(rule, {_currency(thing): _amount(thing, "amount")})])

    def _charge(self, charge: Mapping[str, Any]) -> Mapped:
        status = text_of(charge.get("status"))
        if status in {"failed", "pending"}:
            return self._left_out(status, charge)
        if status != "succeeded":
            raise PayloadError(f"the status of the charge is {shown(charge.get('status'))}, which is not known")
        if charge.get("captured") is False:
            return self._left_out("not captured", charge)
        id_ = id_of(charge.get("id"), "id")
        at, currency = time_of_seconds(charge.get("created"), "created"), _currency(charge)
        agency = agency_in(self._settings.agency, charge, self._payload)
        metadata = charge.get("metadata")
        order = text_of(metadata.get("order_id")) if isinstance(metadata, dict) else ""
        amount = _amount(charge, "amount")
        captured = amount if charge.get("amount_captured") is None else _amount(charge, "amount_captured")
        figures = {"amount": plain(amount, currency), "currency": currency}
        of_payment = {"extra": {"payment": id_}}
        sale = event((self._source, id_), SALE, agency, at, figures | {"order_id": order or id_} | of_payment)
        events = [sale]
        if captured < amount:
            rest = plain(money.subtract(captured, amount), currency)
            data = {"amount": rest, "currency": currency, "refers_to": id_, "reason": "captured less"} | of_payment
            events.append(event((self._source, f"{id_}:uncaptured"), REFUND, agency, at, data))
        return self._with_refunds(Mapped(events), charge)

    def _with_refunds(self, sale: Mapped, charge: Mapping[str, Any]) -> Mapped:
        """Return a charge with its refunds, if the event names them.

        Raises ``PayloadError`` if nothing names them: this version of the API has no event for each refund.
        """
        listed = charge.get("refunds")
        refunds = objects(listed.get("data"), "refunds.data") if isinstance(listed, dict) else None
        is_refunded = text_of(self._payload.get("type")) == "charge.refunded"
        version = text_of(self._payload.get("api_version"))
        if is_refunded and not refunds and version and version < _REFUNDS_SINCE:
            raise PayloadError(f"version {version} of the API has no event for a refund: use {_REFUNDS_SINCE} or later")
        parts = [sale, *(self._refund(one) for one in refunds or [])]
        return Mapped([one for part in parts for one in part.events], [one for part in parts for one in part.excluded])

    def _refund(self, refund: Mapping[str, Any]) -> Mapped:
        charge, status = _charge_of(refund), text_of(refund.get("status"))
        if not charge:
            return self._left_out("refunds of no charge", refund)
        if status in _WAITING:
            return self._left_out("refunds that are pending", refund)
        if status != "succeeded" and status not in _UNDONE:
            raise PayloadError(f"the status of the refund is {shown(refund.get('status'))}, which is not known")
        id_ = id_of(refund.get("id"), "id")
        return Mapped(self._given_back(charge, id_, refund, text_of(refund.get("reason")), _UNDONE.get(status, "")))

    def _dispute(self, dispute: Mapping[str, Any]) -> Mapped:
        charge, status = _charge_of(dispute), text_of(dispute.get("status"))
        if status.startswith(_INQUIRY):
            return self._left_out("inquiries", dispute)
        if status != "won" and status not in _DISPUTED:
            raise PayloadError(f"the status of the dispute is {shown(dispute.get('status'))}, which is not known")
        if not charge:
            raise PayloadError("the dispute names no charge")
        return Mapped(
            self._given_back(charge, f"{charge}:dispute", dispute, "dispute", "dispute won" if status == "won" else "")
        )

    def _given_back(
        self, charge: str, id_: str, thing: Mapping[str, Any], reason: str, undone: str
    ) -> list[dict[str, Any]]:
        """Return the refund of a charge, and its void if it was ``undone``: together they are nothing.

        Both come with each delivery, as nobody knows which of an object's deliveries arrive, and in which order.
        """
        currency, amount = _currency(thing), _amount(thing, "amount")
        agency = agency_in(self._settings.agency, thing, self._payload, linked=True)
        data = {
            "amount": plain(money.negated(amount), currency),
            "currency": currency,
            "refers_to": charge,
            "reason": reason,
            "extra": {"payment": charge},
        }
        at = time_of_seconds(thing.get("created"), "created")
        events = [event((self._source, id_), REFUND, agency, at, data)]
        if undone:
            void = {"currency": currency, "refers_to": id_, "reason": undone}
            events.append(event((self._source, f"{id_}:undone"), VOID, agency, "", void))
        return events


def _charge_of(thing: Mapping[str, Any]) -> str:
    """Return the id of the charge of an object, which may hold the charge itself."""
    charge = thing.get("charge")
    return text_of(charge.get("id") if isinstance(charge, dict) else charge)


def _currency(thing: Mapping[str, Any]) -> str:
    return currency_of(thing.get("currency"), "currency")


def _amount(thing: Mapping[str, Any], name: str) -> Decimal:
    """Return an amount, which is a whole number of the currency's smallest unit."""
    units, currency = amount_of(thing.get(name), name), _currency(thing)
    if units < 0 or units != int(units):
        raise PayloadError(f"{name} is {money.plain(units)}, not a whole number of 0 or more")
    decimals = 0 if currency in _NO_DECIMALS else 3 if currency in _THREE_DECIMALS else 2
    return money.multiply(units, Decimal(1).scaleb(-decimals))
