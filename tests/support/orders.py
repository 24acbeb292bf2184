"""Orders and the stream records of their changes that tests are made of."""

from datetime import timedelta
from typing import Any

from quarterhour.aws.entity import Values
from quarterhour.aws.items import to_item
from quarterhour.orders.order import Order, read_order
from quarterhour.orders.plan import OrderHeader, StatusChange, claim, committed, items
from tests.support.builders import AT
from tests.support.events import ABSENT

WHOLE_WAY = ("open", "paid", "shipped", "delivered")


def item(**changed: object) -> dict[str, Any]:
    """Return an item as it is sent, with other fields."""
    fields = {"agency": "42", "product": "A-7", "amount": "12.50", **changed}
    return {name: value for name, value in fields.items() if value is not ABSENT}


def body(*sent: object, **changed: object) -> dict[str, Any]:
    """Return an order as it is sent, of these items or of one, with other fields."""
    fields = {"order": "1001", "customer": "ann", "currency": "GBP", "items": list(sent or [item()]), **changed}
    return {name: value for name, value in fields.items() if value is not ABSENT}


def order(*sent: object, **changed: object) -> Order:
    """Return a valid order of these items, or of one, with other fields."""
    return read_order(body(*sent, **changed))


def header(one: Order, *statuses: str) -> Values:
    """Return the header of an order that has gone through these statuses, a minute each."""
    claimed = claim(one, AT)
    values = claimed.values()
    for number, status in enumerate(statuses):
        at = AT + timedelta(minutes=number)
        if status == "open":
            values |= committed(claimed, at)
        else:
            values["status"] = status
            values["history"] = [*values["history"], {"status": status, "at": f"{at:%Y-%m-%dT%H:%M:%S}.345Z"}]
    return values


def read(one: Order, *statuses: str) -> OrderHeader:
    """Return the header of an order that has gone through these statuses, as the table's readers get it."""
    return OrderHeader.of(header(one, *statuses))


def stored(one: Order) -> list[Values]:
    """Return the items of an order as they are stored."""
    return list(items(one, claim(one, AT)))


def change(seq: int, values: Values, name: str = "MODIFY") -> dict[str, Any]:
    """Return the stream record of a change that left a header so."""
    image = to_item(values)
    keys = {key: image[key] for key in ("pk", "sk")}
    return {"eventName": name, "dynamodb": {"SequenceNumber": str(seq), "Keys": keys, "NewImage": image}}


def step(before: str, after: str) -> StatusChange:
    """Return a change of status."""
    return StatusChange.of({"from": before, "to": after})
