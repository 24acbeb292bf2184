"""Pages of what is large: none is more than a function can answer, and together they are the whole."""

import json

import pytest

from quarterhour.orders.plan import INDEX_LAG
from tests.handlers.desk import place, send
from tests.support.orders import body, item
from tests.support.system import World

THREAD = "/threads/orders/1001/messages"
MESSAGES = [f"m-{number}" for number in range(300)]
LONG = "🎉" * 96


@pytest.mark.slow
@pytest.mark.parametrize("one", ["Ж", "🎉", '"'], ids=["Cyrillic", "emoji", "quotes"])
def test_long_messages_are_read_in_both_orders(world: World, one: str) -> None:
    place(world, "1001")
    for number, id_ in enumerate(MESSAGES):
        world.clock.advance_to(world.clock.now().replace(microsecond=number * 1000))
        assert send(world, "POST", THREAD, {"id": id_, "user": f"user {number % 5}", "text": one * 4000}).status == 201
    pages = list(world.pages(THREAD, limit=1000))
    assert [message["id"] for page in pages for message in page["items"]] == MESSAGES
    back = [pages[-1]]
    while back[-1]["previous"]:
        back.append(world.read(THREAD, limit=1000, next=back[-1]["previous"]))
    assert [message["id"] for page in reversed(back) for message in page["items"]] == MESSAGES
    assert [message["id"] for message in world.all(THREAD, limit=1000, order="newest")] == MESSAGES[::-1]


@pytest.mark.slow
def test_long_names_of_a_customers_items_are_read_page_by_page(world: World) -> None:
    named = {"agency": "🎉" * 200, "location": "🎉" * 200, "category": "🎉" * 200}
    for order in range(10):
        sent = [item(product=f"{number:04}{LONG}", **named) for number in range(200)]
        for half in (0, 1):
            content = body(*sent[half::2], order=f"{order}{half}{LONG}")
            assert send(world, "POST", "/orders", json.dumps(content, ensure_ascii=False).encode()).status == 201
    world.clock.advance(INDEX_LAG)
    pages = list(world.pages("/customers/ann/items", limit=1000))
    bought = [(found["product"], found["order"]) for page in pages for found in page["items"]]
    assert len(bought) == len(set(bought)) == 2000
    assert bought == sorted(bought)


def test_the_largest_order_is_read_in_one_page(world: World) -> None:
    sent = [item(product=f"{number:04}{LONG}", category='"' * 200, location='"' * 30) for number in range(1000)]
    content = json.dumps(body(*sent), ensure_ascii=False).encode()
    assert 900_000 < len(content) < 1_000_000
    assert send(world, "POST", "/orders", content).status == 201
    assert [found["line"] for found in world.read("/orders/1001", limit=1000)["items"]] == [*range(1, 1001)]
