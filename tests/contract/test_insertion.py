"""The insertion of items in batches: each by itself, a key never twice."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from quarterhour.aws.items import to_item
from quarterhour.aws.tables import Insertion, get_items, insert_items, insert_items_request
from quarterhour.aws.workers import Workers
from tests.contract.storage import Storage

VALUES = {"text": 'it\'s "é" ?', "empty": "", "count": 12, "more": {"list": [1, None, True]}}


def item(own: str, number: int, **values: Any) -> dict[str, Any]:
    return to_item({"pk": f"{own}-{number}", "sk": "latest", **values})


def stored(storage: Storage, own: str, count: int) -> list[dict[str, Any]]:
    keys = [{"pk": f"{own}-{number}", "sk": "latest"} for number in range(count)]
    items = get_items(storage.dynamodb, storage.entity_table, keys, storage.workers)
    return sorted(items, key=lambda item: int(item["pk"]["S"].rpartition("-")[2]))


def insert(storage: Storage, *items: dict[str, Any]) -> Insertion:
    return insert_items(storage.dynamodb, storage.entity_table, items, storage.workers)


def test_any_number_of_items_is_inserted_whole(storage: Storage, own: str) -> None:
    items = [item(own, number, **VALUES) for number in range(60)]
    assert insert(storage, *items) == Insertion([], [])
    assert stored(storage, own, 60) == items


def test_an_existing_item_stays_and_the_others_of_its_batch_are_inserted(storage: Storage, own: str) -> None:
    old, other = item(own, 1, text="old"), item(own, 1, text="new")
    insert(storage, old)
    assert insert(storage, item(own, 0), other, item(own, 2)) == Insertion([other], [])
    assert stored(storage, own, 3) == [item(own, 0), old, item(own, 2)]


def test_items_of_one_partition_differ_by_their_sort_key(storage: Storage, own: str) -> None:
    twins = [to_item({"pk": own, "sk": sort}) for sort in ("a", "b")]
    assert insert(storage, *twins) == Insertion([], [])
    assert insert(storage, twins[1], to_item({"pk": own, "sk": "c"})) == Insertion([twins[1]], [])


def test_a_call_that_names_a_key_twice_fails(storage: Storage, own: str) -> None:
    """DynamoDB Local may have inserted items of the call by then."""
    with pytest.raises(ClientError, match="ValidationException"):
        insert(storage, item(own, 0), item(own, 1), item(own, 1, text="other"))


def test_more_than_25_statements_are_refused(storage: Storage, own: str) -> None:
    request = insert_items_request(storage.entity_table, [item(own, number) for number in range(26)])
    with pytest.raises(ClientError, match="ValidationException"):
        storage.dynamodb.batch_execute_statement(**request)
    assert stored(storage, own, 26) == []


def test_an_item_that_its_table_cannot_hold_is_an_error(storage: Storage, own: str) -> None:
    for broken in ({"pk": {"S": own}}, {"pk": {"N": "1"}, "sk": {"S": "latest"}}):
        with pytest.raises(ClientError, match="ValidationError"):
            insert(storage, broken)


def test_a_table_that_does_not_exist_is_an_error(storage: Storage, own: str) -> None:
    with pytest.raises(ClientError, match="ResourceNotFound"):
        insert_items(storage.dynamodb, "no-such-table", [item(own, 0)], storage.workers)


def test_a_failed_statement_does_not_stop_the_others_of_its_call(storage: Storage, own: str) -> None:
    request = insert_items_request(storage.entity_table, [item(own, 0)])
    request["Statements"] += insert_items_request("no-such-table", [item(own, 1)])["Statements"]
    request["Statements"] += insert_items_request(storage.entity_table, [item(own, 2)])["Statements"]
    responses = storage.dynamodb.batch_execute_statement(**request)["Responses"]
    assert ["Error" in response for response in responses] == [False, True, False]
    assert [response.get("TableName") for response in responses] == [storage.entity_table, None, storage.entity_table]
    assert stored(storage, own, 3) == [item(own, 0), item(own, 2)]


def test_of_concurrent_insertions_of_a_key_one_succeeds(storage: Storage, own: str) -> None:

    def one(number: int) -> Insertion:
        contested = [item(own, 0, text=str(number)), item(own, 1, text=str(number))]
        return insert_items(storage.dynamodb, storage.entity_table, contested, Workers(1))

    with ThreadPoolExecutor(8) as pool:
        insertions = list(pool.map(one, range(8)))
    assert sum(2 - len(insertion.existing) for insertion in insertions) == 2
