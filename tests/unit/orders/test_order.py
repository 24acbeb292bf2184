"""The body of an order: what it must hold, and that every problem names its field."""

import json
from decimal import Decimal
from typing import Any

import pytest

from quarterhour.ledger.events.billed import MAX_ITEMS
from quarterhour.model import exact_json
from quarterhour.model.errors import InvalidError
from quarterhour.model.fields import MAX_PROBLEMS, MAX_TEXT
from quarterhour.orders.keys import CustomerItemKey
from quarterhour.orders.order import MAX_ID, Order, read_order
from tests.support.builders import utc
from tests.support.cases import cases
from tests.support.events import ABSENT
from tests.support.orders import body, item, order


def problems(sent: object) -> list[tuple[str, str, str]]:
    with pytest.raises(InvalidError) as refused:
        read_order(exact_json.parse(json.dumps(sent)))
    return [(one.field, one.problem, one.expected) for one in refused.value.problems]


def test_an_order_is_parsed_with_all_its_fields() -> None:
    full = item(quantity=Decimal(2), unit_price="6.25", location="GB#London", commission_rate="0.125")
    read = order(full, item(agency="7"), placed_at="2026-10-23T03:30:00.1239+02:00")
    assert (read.id, read.customer, read.currency) == ("1001", "ann", "GBP")
    assert read.placed_at == utc("01:30:00.1239")
    assert read.items[0] == {
        "agency": "42",
        "amount": "12.50",
        "commission_rate": "0.125",
        "product": "A-7",
        "quantity": "2",
        "unit_price": "6.25",
        "location": "GB#London",
    }
    assert read.items[1] == {"agency": "7", "amount": "12.50", "product": "A-7"}


def test_customer_and_instant_are_optional() -> None:
    read = order(customer=ABSENT)
    assert (read.customer, read.placed_at) == (None, None)


def test_amounts_are_exact_and_summed_exactly() -> None:
    tiny, huge = "0.0000000000000000000000000000000000001", "99999999999999999999999999999999999999"
    assert order(item(amount=tiny), item(amount=huge)).total == Decimal(huge + tiny[1:])


def test_a_thousand_items_are_accepted() -> None:
    assert len(order(*[item()] * MAX_ITEMS).items) == MAX_ITEMS


NAME = "1 to 200 printable characters without '#', and no blank at either end"
NO_AGENCY = f"the agency: {NAME}"
NO_AMOUNT = "a decimal of at most 38 digits, as a string or a number"
NO_PLACE = "a path such as GB#London without an empty part"
EXPECTED_ID = "1 to 100 printable characters without '#', and no blank at either end"
EXPECTED_ITEMS = "a list of 1 to 1,000 objects with agency, product and amount"
EXPECTED_PLACED = "an RFC 3339 instant such as 2026-10-23T01:30:00Z, of the years 1970 to 9998"


@cases(
    ("sent", "problem"),
    [
        (body(order=ABSENT), ("order", "is missing", EXPECTED_ID)),
        (body(order="a#b"), ("order", "is 'a#b'", EXPECTED_ID)),
        (body(order=7), ("order", "is 7", EXPECTED_ID)),
        (body(customer="a\nb"), ("customer", "is 'a\\nb'", NAME)),
        (body(customer="ann "), ("customer", "is 'ann '", NAME)),
        (body(order=" 1001"), ("order", "is ' 1001'", EXPECTED_ID)),
        (body(currency="gbp"), ("currency", "is 'gbp'", "an ISO 4217 code such as EUR")),
        (body(currency="XXX"), ("currency", "is 'XXX'", "an ISO 4217 code such as EUR")),
        (body(placed_at="2026-10-23"), ("placed_at", "is '2026-10-23'", EXPECTED_PLACED)),
        (body(placed_at="0999-10-23T01:30:00Z"), ("placed_at", "is '0999-10-23T01:30:00Z'", EXPECTED_PLACED)),
        (body(items=ABSENT), ("items", "is missing", EXPECTED_ITEMS)),
        (body(items=[]), ("items", "is a list of 0", EXPECTED_ITEMS)),
        (body(*[item()] * 1001), ("items", "is a list of 1001", EXPECTED_ITEMS)),
        (body(items={"0": item()}), ("items", "is an object of 1", EXPECTED_ITEMS)),
        (body(item(), "tea"), ("items[1]", "is not an object", "an object with agency, product and amount")),
        (body(item(agency=ABSENT)), ("items[0].agency", "is missing", NO_AGENCY)),
        (body(item(product=ABSENT)), ("items[0].product", "is missing", EXPECTED_ID)),
        (body(item(product="A#7")), ("items[0].product", "is 'A#7'", EXPECTED_ID)),
        (body(item(), item(amount="-1")), ("items[1].amount", "is -1", "0 or more, as it is a sale")),
        (body(item(amount="1,5")), ("items[0].amount", "is '1,5'", NO_AMOUNT)),
        (body(item(commission_rate="1.5")), ("items[0].commission_rate", "is '1.5'", "a decimal from 0 to 1")),
        (body(item(location="GB##")), ("items[0].location", "is 'GB##'", NO_PLACE)),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_each_problem_names_its_field(sent: object, problem: tuple[str, str, str]) -> None:
    assert problems(sent) == [problem]


@pytest.mark.parametrize("field", ["customer", "order_id", "line", "refers_to", "extra", "currency", "status"])
def test_an_item_has_none_of_the_orders_fields(field: str) -> None:
    ((place, problem, expected),) = problems(body(item(**{field: "x"})))
    assert (place, problem) == (f"items[0].{field}", "is not known")
    assert field not in expected.split(", ")


def test_an_unknown_field_is_refused() -> None:
    ((place, problem, _),) = problems(body(note="ring twice"))
    assert (place, problem) == ("note", "is not known")


def test_all_problems_are_listed_up_to_a_maximum() -> None:
    assert [field for field, *_ in problems(body(item(amount="x"), item(agency=""), order=""))] == [
        "order",
        "items[0].amount",
        "items[1].agency",
    ]
    found = problems(body(*[item(amount="x")] * 30))
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1][1] == "has 20 more problems"


def test_the_longest_names_still_make_a_key() -> None:
    widest = "\U0001f3fa" * MAX_ID
    place = str(CustomerItemKey(widest, "2026-10-23T01:30:00.000Z", widest, MAX_ITEMS))
    assert len(place.encode()) <= 1024
    assert len(("CUSTOMER#" + "\U0001f3fa" * MAX_TEXT).encode()) <= 2048


# ---------------------------------------------------------------- the digest


@pytest.mark.parametrize(
    "other",
    [
        order(customer="bob"),
        order(customer=ABSENT),
        order(currency="EUR"),
        order(placed_at="2026-10-23T01:30:00Z"),
        order(item(amount="12.5")),
        order(item(quantity="1")),
        order(item(), item()),
    ],
    ids=["customer", "guest", "currency", "time", "scale", "facts", "items"],
)
def test_other_content_has_another_digest(other: Order) -> None:
    assert other.digest != order().digest


def test_equal_content_has_the_same_digest() -> None:
    sent: dict[str, Any] = body(item(amount=12.5, quantity="3"), placed_at="2026-10-23T01:30:00Z")
    again = {**dict(reversed(sent.items())), "placed_at": "2026-10-23T03:30:00.0004+02:00"}
    again["items"] = [{**item(amount="12.5"), "quantity": 3}]
    first, second = (read_order(exact_json.parse(json.dumps(one))) for one in (sent, again))
    assert first.digest == second.digest
