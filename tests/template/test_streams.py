"""The filters of the stream mappings, held to records as DynamoDB sends them."""

from typing import Any

import pytest

from quarterhour_tools.emulator.filters import matches
from quarterhour_tools.emulator.template import Template
from tests.template.stack import attribute


def passes(template: Template, function: str, record: dict[str, Any]) -> bool:
    """Tell whether the function gets to see the record."""
    (mapping,) = template.functions(attribute)[function].mappings
    return matches(mapping.filters, record)


def entity(name: str, sk: str) -> dict[str, Any]:
    return {"eventName": name, "dynamodb": {"Keys": {"pk": {"S": "ACCOUNT#42#GBP"}, "sk": {"S": sk}}}}


@pytest.mark.parametrize(("name", "seen"), [("INSERT", True), ("MODIFY", False), ("REMOVE", False)])
def test_the_counters_see_new_events_only(template: Template, name: str, *, seen: bool) -> None:
    keys = {"quarter_hour": {"S": "202610230130#00"}, "position": {"S": "2026-10-23T01:42:07.512Z.x"}}
    assert passes(template, "counters", {"eventName": name, "dynamodb": {"Keys": keys}}) is seen


@pytest.mark.parametrize(("name", "seen"), [("INSERT", True), ("MODIFY", True), ("REMOVE", False)])
def test_the_snapshots_see_current_states_as_they_change(template: Template, name: str, *, seen: bool) -> None:
    assert passes(template, "snapshots", entity(name, "latest")) is seen


@pytest.mark.parametrize("sk", ["5m#2026-10-23T01:40:00Z", "DAY#2026-10-23", "QUARTER#202610230130#00", "latest#1"])
def test_a_snapshot_or_counter_triggers_no_snapshot(template: Template, sk: str) -> None:
    assert not passes(template, "snapshots", entity("INSERT", sk))


ORDER = {"pk": {"S": "ORDER#1001"}, "sk": {"S": "order"}}


@pytest.mark.parametrize(
    ("name", "keys", "status", "seen"),
    [
        ("MODIFY", ORDER, "paid", True),
        ("MODIFY", ORDER, "cancelled", True),
        ("MODIFY", ORDER, "open", False),
        ("MODIFY", ORDER, "shipped", False),
        ("INSERT", ORDER, "writing", False),
        ("INSERT", {**ORDER, "sk": {"S": "ITEM#0001"}}, "paid", False),
        ("MODIFY", {"pk": {"S": "ACCOUNT#42#GBP"}, "sk": {"S": "order"}}, "paid", False),
        ("REMOVE", ORDER, "paid", False),
    ],
)
def test_billing_sees_orders_that_became_paid_or_cancelled(
    template: Template, name: str, keys: dict[str, Any], status: str, *, seen: bool
) -> None:
    image = {**keys, "status": {"S": status}}
    assert passes(template, "billing", {"eventName": name, "dynamodb": {"Keys": keys, "NewImage": image}}) is seen
