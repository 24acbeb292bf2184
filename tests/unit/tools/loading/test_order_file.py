"""The sales of a file, grouped by order."""

import json
from typing import Any

from quarterhour_tools.loading.event_file import EventLine
from quarterhour_tools.loading.order_file import purchases

AT = "2017-11-24T10:30:00Z"


def line(number: int, type_: str = "sale.recorded", subject: str = "42", **data: Any) -> EventLine:
    event = {
        "specversion": "1.0",
        "id": str(number),
        "source": "shop",
        "type": type_,
        "subject": subject,
        "time": AT,
        "data": {"amount": "1.50", "currency": "BRL", **data},
    }
    return EventLine(number, json.dumps(event), None)


def test_sales_of_one_order_become_one_in_the_order_of_their_lines() -> None:
    lines = [
        line(1, order_id="a", product="tea", line="1", location="BR#SP", customer="ann"),
        line(2, order_id="b", product="cup"),
        line(3, order_id="a", product="pot", line="2", subject="7", commission_rate="0.125"),
    ]
    (first, second), left = purchases(lines)
    assert left == ()
    assert first.lines == (lines[0], lines[2])
    assert (first.id, second.id) == ("a", "b")
    assert json.loads(first.content) == {
        "order": "a",
        "placed_at": AT,
        "customer": "ann",
        "currency": "BRL",
        "items": [
            {"agency": "42", "product": "tea", "amount": "1.50", "location": "BR#SP"},
            {"agency": "7", "product": "pot", "amount": "1.50", "commission_rate": "0.125"},
        ],
    }


def test_other_lines_are_unchanged() -> None:
    lines = [
        line(1),
        line(2, "sale.refunded", order_id="a", refers_to="1"),
        EventLine(3, "[1, 2]", None),
        EventLine(4, '{"type": "sale.recorded", "data": 7}', None),
        EventLine(5, '{"type": "sale.recorded", "type": "sale.recorded"}', None),
    ]
    assert purchases(lines) == ([], tuple(lines))


def test_numbers_keep_their_digits() -> None:
    text = line(1, order_id="a", product="tea").text.replace('"1.50"', "12345678901234567890.10")
    (bought,), _ = purchases([EventLine(1, text, None)])
    assert json.loads(bought.content)["items"][0]["amount"] == "12345678901234567890.10"
