"""POST /events with invalid bodies: a clear error for each, and nothing written."""

import json
from collections.abc import Iterator

import pytest

from tests.support.cases import cases
from tests.support.events import sale
from tests.support.requests import BATCH, ONE, post
from tests.support.system import World, opened
from tests.support.tables import items, ledger

GOOD = json.dumps(sale())


@pytest.fixture(scope="module")
def empty() -> Iterator[World]:
    """A system whose tables stay empty."""
    with opened() as world:
        yield world


def assert_empty(world: World) -> None:
    assert [items(world, table) for table in ("IdentityTable", "LedgerTable", "EntityTable")] == [[], [], []]


BODIES: dict[str, tuple[object, str, int, str]] = {
    "no content type": (GOOD, "", 415, "send application/cloudevents+json"),
    "plain JSON": (
        GOOD,
        "application/json",
        415,
        "application/json for the data of one event with its attributes in ce-",
    ),
    "another character set": (GOOD, f"{ONE}; charset=latin-1", 415, "in UTF-8"),
    "no body": (b"", ONE, 400, "the body is not JSON"),
    "no JSON": ("amount=12.50", ONE, 400, "the body is not JSON"),
    "half of one": (GOOD[:-5], ONE, 400, "the body is not JSON"),
    "two of them": (GOOD + GOOD, ONE, 400, "the body is not JSON"),
    "a key twice": (GOOD.replace('"id"', '"source": "x", "id"'), ONE, 400, "'source' appears twice"),
    "not UTF-8": (GOOD.replace("shop", "\xe9").encode("latin-1"), ONE, 400, "the body is not JSON"),
    "nested beyond reason": ("[" * 100_000, BATCH, 400, "nested too deeply"),
    "a list sent as one event": ([sale()], ONE, 400, f"send it as {BATCH}"),
    "one event sent as a batch": (sale(), BATCH, 400, f"send a single event as {ONE}"),
    "an empty batch": ([], BATCH, 400, "the body is an empty batch"),
    "a batch of 501": ([sale(str(i)) for i in range(501)], BATCH, 413, "501 events; send at most 500"),
}


@cases(("body", "content_type", "status", "detail"), BODIES.values(), ids=BODIES)
def test_an_invalid_body_is_refused_and_nothing_is_written(
    empty: World, body: object, content_type: str, status: int, detail: str
) -> None:
    response = post(empty, body, content_type)
    assert response.status == status
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["status"] == status
    assert detail in response.json()["detail"]
    assert_empty(empty)


@pytest.mark.parametrize("body", ["null", "5", '"sale"', "true", "NaN", "{}", '{"id": NaN}'])
def test_json_that_is_no_event_is_rejected_and_nothing_is_written(empty: World, body: str) -> None:
    response = post(empty, body, ONE)
    assert (response.status, response.json()["counts"]) == (422, {"rejected": 1})
    assert response.json()["items"][0]["errors"]
    assert_empty(empty)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "1" * 39, "1e-38"])
def test_a_json_number_that_is_no_money_is_rejected(empty: World, number: str) -> None:
    response = post(empty, GOOD.replace('"12.50"', number), ONE)
    assert response.status == 422
    assert [error["field"] for error in response.json()["items"][0]["errors"]] == ["data.amount"]


NUMBERS = {
    "0.1": "0.1",
    "12.50": "12.50",
    "1.5e3": "1500",
    "12345678901234567890123456789012345.67": "12345678901234567890123456789012345.67",
    "0.30000000000000000000000000000000001": "0.30000000000000000000000000000000001",
}


def test_a_json_number_is_recorded_digit_for_digit(world: World) -> None:
    sent = [json.dumps(sale(f"n{number}")).replace('"12.50"', f'{number}, "commission_rate": 1') for number in NUMBERS]
    assert post(world, f"[{','.join(sent)}]", BATCH).status == 202
    assert {item["id"]: (item["amount"], item["commission"]) for item in ledger(world)} == {
        f"n{number}": (amount, amount) for number, amount in NUMBERS.items()
    }


def test_names_with_every_kind_of_printable_character_are_recorded(world: World) -> None:
    names = ["United Kingdom", "日本", "🛒", "a/b?c=d&e%20f", "'\"\\", "=1+1", "x" * 200]
    sales = [{**sale(name), "subject": name, "source": name} for name in names]
    assert post(world, sales).json()["counts"] == {"recorded": len(names)}
    found = ledger(world)
    assert sorted((one["source"], one["id"], one["agency"]) for one in found) == sorted((n, n, n) for n in names)
    assert post(world, sales).json()["counts"] == {"duplicate": len(names)}
