"""Events: exact money, times with a zone, and the bytes of a try and its retry."""

import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any
from unicodedata import normalize

import pytest

from quarterhour_client import EventError, adjustment, event, order_item, payment, refund, sale, void

AT = datetime(2026, 10, 23, 3, 30, 2, tzinfo=timezone(timedelta(hours=2)))
ACCOUNT: dict[str, Any] = {"source": "shop", "id": "8", "agency": "42", "currency": "EUR"}


def test_a_sale_is_a_cloud_event_with_its_amount_as_text_and_its_time_in_utc() -> None:
    made = sale(**ACCOUNT, amount=Decimal("19.90"), time=AT, customer="ann", line=1, extra={"gift": True})
    assert json.loads(made.body) == {
        "specversion": "1.0",
        "source": "shop",
        "id": "8",
        "type": "sale.recorded",
        "subject": "42",
        "time": "2026-10-23T01:30:02Z",
        "data": {"amount": "19.90", "currency": "EUR", "customer": "ann", "line": 1, "extra": {"gift": True}},
    }
    again = sale(
        **ACCOUNT, amount="19.90", time=AT.astimezone(timezone.utc), customer="ann", line=1, extra={"gift": True}
    )
    assert made == again


@pytest.mark.parametrize(
    ("made", "type_", "data"),
    [
        (refund(**ACCOUNT, amount="-5", refers_to="7"), "sale.refunded", {"amount": "-5", "refers_to": "7"}),
        (void(**ACCOUNT, refers_to="7", reason="twice"), "sale.voided", {"refers_to": "7", "reason": "twice"}),
        (payment(**ACCOUNT, amount=20, statement="S-1"), "payment.recorded", {"amount": "20", "statement": "S-1"}),
        (payment(**ACCOUNT, amount=2, kind="fee"), "payment.recorded", {"amount": "2", "kind": "fee"}),
        (adjustment(**ACCOUNT, amount="0", commission="1E+2", kind="fee"), "adjustment.recorded",
         {"amount": "0", "commission": "100", "kind": "fee"}),
    ],
)  # fmt: skip
def test_each_helper_makes_the_event_of_its_type(made: Any, type_: str, data: dict[str, str]) -> None:
    found = json.loads(made.body)
    assert (found["type"], found["data"]) == (type_, {**data, "currency": "EUR"})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": 19.9}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": "19,90"}, "amount"),
        ({"amount": "NaN"}, "amount"),
        ({"amount": "1E+40"}, "amount"),
        ({"amount": "-1"}, "amount"),
        ({"commission_rate": 0.1}, "commission_rate"),
        ({"quantity": 1.5}, "quantity"),
        ({"currency": "eur"}, "currency"),
        ({"time": datetime(2026, 10, 23)}, "time"),  # noqa: DTZ001 - what is refused
        ({"time": "2026-10-23"}, "time"),
        ({"id": ""}, "id"),
        ({"id": "a#b"}, "id"),
        ({"source": " shop"}, "source"),
        ({"agency": "x" * 201}, "agency"),
        ({"customer": "a\u200bb"}, "customer"),
        ({"agency": "a\u202eb"}, "agency"),
        ({"location": "GB\nLondon"}, "location"),
        ({"extra": {"text": "x" * 5000}}, "extra"),
        ({"extra": {"when": AT}}, "extra"),
        ({"attributes": {"subject": "7"}}, "attributes"),
    ],
)
def test_a_value_that_cannot_be_right_is_refused_with_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(EventError) as caught:
        sale(**{**ACCOUNT, "amount": "19.90", **change})
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field} ")


def test_signs_and_sizes_of_the_other_types_are_checked_too() -> None:
    with pytest.raises(EventError, match="0 or less"):
        refund(**ACCOUNT, amount="5")
    with pytest.raises(EventError, match="above 0"):
        payment(**ACCOUNT, amount="0.00")
    with pytest.raises(EventError, match="at most"):
        event(source="s", id="1", type="view.recorded", agency="p", data={"list": ["x" * 4_000_000]})
    assert order_item(agency="42", product="TEA", amount="9", quantity=3) == {
        "agency": "42", "product": "TEA", "amount": "9", "quantity": "3"
    }  # fmt: skip


def test_two_forms_of_a_text_are_one_text() -> None:
    one, other = (
        sale(
            **{**ACCOUNT, "agency": form("Café Lumière"), "id": form("é1")},
            amount="1",
            category=form("Bücher"),
            extra={form("ä"): [form("ä")]},
        )
        for form in (partial(normalize, "NFC"), partial(normalize, "NFD"))
    )
    assert one == other
    assert one.id == "é1"


@pytest.mark.parametrize("product", ["10\u00a0kg", "", "x" * 5000, "a\tb", "half of \ud83d", "\u0646\u200c\u0645"])
def test_a_description_is_left_to_the_server(product: str) -> None:
    made = json.loads(sale(**ACCOUNT, amount="1", product=product).body)
    assert made["data"]["product"] == product


def test_other_blanks_in_a_name_are_blanks() -> None:
    assert (
        json.loads(sale(**{**ACCOUNT, "agency": "株式会社\u3000東京"}, amount="1").body)["subject"] == "株式会社 東京"
    )


def test_a_sale_and_its_refund_say_the_parts_of_their_amounts() -> None:
    sold = sale(source="s", id="1", agency="42", amount="12", currency="GBP", tax=Decimal(2), shipping="1.50")
    back = refund(source="s", id="2", agency="42", amount="-12", currency="GBP", refers_to="1", tax=Decimal(-2))
    assert b'"tax":"2","shipping":"1.50"' in sold.body
    assert b'"tax":"-2"' in back.body
