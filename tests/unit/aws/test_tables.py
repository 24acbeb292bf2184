"""Conditional writes, and the bounds of batches and pages."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from quarterhour.aws.items import to_item
from quarterhour.aws.retries import ATTEMPTS
from quarterhour.aws.tables import (
    ConditionalWrite,
    Insertion,
    ItemUpdate,
    conditional_write,
    get_item,
    get_items,
    insert_items,
    put_items,
    query_pages,
    update_items,
)
from quarterhour.aws.workers import Workers
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from tests.support.clocks import Waits
from tests.support.script import Scripted, service_error

TIMEOUT = ReadTimeoutError(endpoint_url="table")
THROTTLED = service_error("ThrottlingException")
ITEM = {"pk": {"S": "a"}}


def items(count: int) -> list[dict[str, Any]]:
    return [{"pk": {"S": str(number)}} for number in range(count)]


# ---------------------------------------------------------------- conditional writes


def test_a_write_that_was_applied_returns_the_item_as_it_left_it() -> None:
    client: Any = Scripted({"Attributes": ITEM})
    assert conditional_write(client.update_item, "Entity") == ConditionalWrite(applied=True, item=ITEM)
    client = Scripted({})
    assert conditional_write(client.put_item, "Entity") == ConditionalWrite(applied=True, item={})


def test_a_condition_that_does_not_hold_returns_the_item_that_is_there() -> None:
    client: Any = Scripted(service_error("ConditionalCheckFailedException", Item=ITEM))
    assert conditional_write(client.put_item, "Entity") == ConditionalWrite(applied=False, item=ITEM)
    assert len(client.calls) == 1
    client = Scripted(service_error("ConditionalCheckFailedException"))
    assert conditional_write(client.put_item, "Entity") == ConditionalWrite(applied=False, item={})


def test_another_error_of_a_conditional_write_is_raised_at_once() -> None:
    client: Any = Scripted(service_error("AccessDeniedException"))
    with pytest.raises(ClientError, match="AccessDenied"):
        conditional_write(client.put_item, "Entity")
    assert len(client.calls) == 1


@pytest.mark.usefixtures("hands")
def test_a_conditional_write_is_repeated_while_there_is_time() -> None:
    client: Any = Scripted(THROTTLED, TIMEOUT, {"Attributes": ITEM})
    assert conditional_write(client.put_item, "Entity").applied
    assert len(client.calls) == 3
    client = Scripted(THROTTLED)
    left = iter([True, False])
    with pytest.raises(UnavailableError, match=r"^Entity did not answer in time$"):
        conditional_write(client.put_item, "Entity", lambda: next(left))
    assert len(client.calls) == 2


# ---------------------------------------------------------------- reading


def test_an_item_is_returned_and_a_missing_one_is_none() -> None:
    client: Any = Scripted({"Item": ITEM})
    assert get_item(client, "Entity", {"pk": "a"}) == ITEM
    assert client.calls == [("get_item", {"TableName": "Entity", "Key": to_item({"pk": "a"}), "ConsistentRead": True})]
    client = Scripted({})
    assert get_item(client, "Entity", {"pk": "a"}) is None


@pytest.mark.usefixtures("hands")
def test_a_table_that_does_not_answer_is_named() -> None:
    client: Any = Scripted(THROTTLED)
    with pytest.raises(UnavailableError, match=r"^the table Entity did not answer in time$"):
        get_item(client, "Entity", {"pk": "a"})
    with pytest.raises(UnavailableError, match=r"^the table Entity did not answer in time$"):
        get_items(client, "Entity", [{"pk": "a"}], Workers(1))
    with pytest.raises(UnavailableError, match=r"^the table Entity did not answer in time$"):
        next(query_pages(client, {"TableName": "Entity"}, Workers(1)))


def test_reading_items_that_may_be_a_moment_old_costs_half() -> None:
    client: Any = Scripted({"Responses": {"Entity": [ITEM]}})
    assert get_items(client, "Entity", [{"pk": "a"}], Workers(1), consistent=False) == [ITEM]
    request = {"Keys": [ITEM], "ConsistentRead": False}
    assert client.calls == [("batch_get_item", {"RequestItems": {"Entity": request}})]


def test_items_that_stay_unread_are_read_again_so_many_times_with_growing_pauses() -> None:
    client: Any = Scripted({"Responses": {}, "UnprocessedKeys": {"Entity": {"Keys": [ITEM]}}})
    waits = Waits()
    with clock.using(waits), pytest.raises(UnavailableError):
        get_items(client, "Entity", [{"pk": "a"}], Workers(1))
    assert len(client.calls) == ATTEMPTS
    assert len(waits.waited) == ATTEMPTS - 1, "no pause follows the last"
    assert all(0 <= waited <= 0.05 * 2**attempt for attempt, waited in enumerate(waits.waited))
    assert max(waits.waited) > 0


def test_the_first_page_of_a_query_is_read_before_its_caller_wants_it() -> None:
    client: Any = Scripted({"Items": [ITEM]})
    pages = query_pages(client, {"TableName": "Ledger", "Limit": 5}, Workers(2))
    assert next(pages) == [ITEM]
    assert list(pages) == []
    assert client.calls == [("query", {"TableName": "Ledger", "Limit": 5})]


# ---------------------------------------------------------------- writing


def test_items_are_written_twenty_five_at_a_time() -> None:
    client: Any = Scripted({})
    assert put_items(client, "Entity", items(51), Workers(1)) == []
    sent = [request["RequestItems"]["Entity"] for _, request in client.calls]
    assert [len(puts) for puts in sent] == [25, 25, 1]
    assert [put["PutRequest"]["Item"] for puts in sent for put in puts] == items(51)


def test_only_items_that_may_be_written_are_written_and_the_others_returned() -> None:
    client: Any = Scripted({"UnprocessedItems": {}})
    first, second, third = items(3)
    assert put_items(client, "Entity", [first, second, third], Workers(1), lambda item: item == second) == [
        first,
        third,
    ]
    assert [request["RequestItems"] for _, request in client.calls] == [{"Entity": [{"PutRequest": {"Item": second}}]}]


@pytest.mark.usefixtures("hands")
def test_an_item_that_may_no_longer_be_written_is_not_sent_again() -> None:
    first, second = items(2)
    client: Any = Scripted(THROTTLED, {})
    allowed = iter([True, True, False, True])
    assert put_items(client, "Entity", [first, second], Workers(1), lambda _: next(allowed)) == [first]
    assert [len(request["RequestItems"]["Entity"]) for _, request in client.calls] == [2, 1]


@pytest.mark.usefixtures("hands")
def test_fruitless_calls_count_from_the_last_one_that_wrote_something() -> None:
    def all_but_the_first(request: dict[str, Any]) -> dict[str, Any]:
        return {"UnprocessedItems": {"Entity": request["RequestItems"]["Entity"][1:]}}

    fruitless = [THROTTLED] * (ATTEMPTS - 1)
    client: Any = Scripted(*fruitless, all_but_the_first, *fruitless, all_but_the_first, THROTTLED)
    assert put_items(client, "Entity", items(3), Workers(1)) == items(3)[2:]
    assert len(client.calls) == 2 * ATTEMPTS + ATTEMPTS


def test_the_pauses_between_fruitless_writes_grow_and_none_follows_the_last() -> None:
    client: Any = Scripted(THROTTLED)
    waits = Waits()
    with clock.using(waits):
        put_items(client, "Entity", items(1), Workers(1))
    assert len(waits.waited) == ATTEMPTS - 1
    assert all(0 <= waited <= 0.05 * 2 ** (number + 1) for number, waited in enumerate(waits.waited))


# ---------------------------------------------------------------- insertion


def statements(*codes: str | None) -> dict[str, Any]:
    """Return the response to a call: an error code for each statement, or ``None``."""
    return {"Responses": [{"Error": {"Code": code, "Message": code}} if code else {} for code in codes]}


def inserted(client: Any) -> list[list[str]]:
    return [[one["Parameters"][0]["S"] for one in request["Statements"]] for _, request in client.calls]


def test_items_are_inserted_twenty_five_in_a_call_with_all_their_values_as_parameters() -> None:
    client: Any = Scripted(lambda request: statements(*[None] * len(request["Statements"])))
    some = [{"pk": {"S": f"it's {number}"}, "number": {"N": str(number)}} for number in range(51)]
    assert insert_items(client, "Entity", some, Workers(1)) == Insertion([], [])
    sent = [one for _, request in client.calls for one in request["Statements"]]
    assert [len(request["Statements"]) for _, request in client.calls] == [25, 25, 1]
    assert {one["Statement"] for one in sent} == {"INSERT INTO \"Entity\" VALUE {'pk': ?, 'number': ?}"}
    assert [one["Parameters"] for one in sent] == [list(one.values()) for one in some]


@pytest.mark.usefixtures("hands")
@pytest.mark.parametrize(
    "code",
    [
        "InternalServerError",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "ThrottlingError",
        "TransactionConflict",
    ],
)
def test_only_the_statements_that_failed_for_a_while_are_sent_again(code: str) -> None:
    client: Any = Scripted(statements(code, None, "DuplicateItem", code), statements("DuplicateItem", None))
    some = items(4)
    assert insert_items(client, "Entity", some, Workers(1)) == Insertion([some[2], some[0]], [])
    assert inserted(client) == [["0", "1", "2", "3"], ["0", "3"]]


@pytest.mark.parametrize(
    "code",
    [
        "AccessDenied",
        "ConditionalCheckFailed",
        "ItemCollectionSizeLimitExceeded",
        "NobodyKnows",
        "ResourceNotFound",
        "ValidationError",
    ],
)
def test_a_statement_that_can_never_succeed_raises_its_error(code: str) -> None:
    client: Any = Scripted(statements(None, code))
    with pytest.raises(ClientError, match=code):
        insert_items(client, "Entity", items(2), Workers(1))
    assert len(client.calls) == 1


@pytest.mark.usefixtures("hands")
@pytest.mark.parametrize("failure", [THROTTLED, TIMEOUT, service_error("InternalServerError", 500)])
def test_an_insertion_that_failed_for_a_while_is_sent_again_whole(failure: Exception) -> None:
    client: Any = Scripted(failure, statements("DuplicateItem", None))
    some = items(2)
    assert insert_items(client, "Entity", some, Workers(1)) == Insertion(some[:1], [])
    assert inserted(client) == [["0", "1"]] * 2


def test_items_that_are_never_inserted_are_returned_and_no_pause_follows_the_last_call() -> None:
    client: Any = Scripted(statements(None, "ThrottlingError", "DuplicateItem"), statements("ThrottlingError"))
    waits = Waits()
    some = items(3)
    with clock.using(waits):
        assert insert_items(client, "Entity", some, Workers(1)) == Insertion(some[2:], some[1:2])
    assert len(waits.waited) == len(client.calls) - 1 == ATTEMPTS, "one that got somewhere, then so many in vain"


def test_an_item_that_may_no_longer_be_inserted_is_returned_and_not_sent() -> None:
    client: Any = Scripted(statements(None))
    first, second = items(2)
    assert insert_items(client, "Entity", [first, second], Workers(1), lambda item: item == second).unwritten == [first]
    assert inserted(client) == [["1"]]


# ---------------------------------------------------------------- updates


def change(number: int) -> ItemUpdate:
    """Return the change of an item from version 3 to version 4."""
    return ItemUpdate({"pk": f"it's {number}"}, {"text": {"S": "new"}, "version": {"N": "4"}}, 3)


def test_items_are_changed_twenty_five_in_a_call_with_all_their_values_as_parameters() -> None:
    client: Any = Scripted(lambda request: statements(*[None] * len(request["Statements"])))
    assert update_items(client, "Entity", [change(number) for number in range(51)], Workers(1)) == []
    sent = [one for _, request in client.calls for one in request["Statements"]]
    assert [len(request["Statements"]) for _, request in client.calls] == [25, 25, 1]
    assert {one["Statement"] for one in sent} == {
        'UPDATE "Entity" SET "text" = ? SET "version" = ? WHERE "pk" = ? AND "version" = ?'
    }
    assert sent[7]["Parameters"] == [{"S": "new"}, {"N": "4"}, {"S": "it's 7"}, {"N": "3"}]


def test_changes_that_are_not_made_at_once_are_returned_without_a_pause() -> None:
    answers = ("ThrottlingError", "ConditionalCheckFailed", "ValidationError", None)
    client: Any = Scripted(statements(*answers))
    some, waits = [change(number) for number in range(4)], Waits()
    with clock.using(waits):
        assert update_items(client, "Entity", some, Workers(1)) == [some[1], some[2], some[0]]
    assert (len(client.calls), waits.waited) == (1, [])


@pytest.mark.parametrize("failure", [THROTTLED, TIMEOUT])
def test_the_changes_of_a_call_that_failed_for_a_while_are_returned(failure: Exception) -> None:
    client: Any = Scripted(failure)
    some, waits = [change(number) for number in range(2)], Waits()
    with clock.using(waits):
        assert update_items(client, "Entity", some, Workers(1)) == some
    assert (len(client.calls), waits.waited) == (1, [])


@pytest.mark.parametrize("code", ["AccessDenied", "DuplicateItem", "NobodyKnows", "ResourceNotFound"])
def test_a_change_that_can_never_succeed_raises_its_error(code: str) -> None:
    client: Any = Scripted(statements(None, code))
    with pytest.raises(ClientError, match=code):
        update_items(client, "Entity", [change(number) for number in range(2)], Workers(1))
    assert len(client.calls) == 1
