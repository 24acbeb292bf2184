"""The change of items in batches: each by itself, and only over the version that was read."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from quarterhour.aws.items import from_item, to_item
from quarterhour.aws.tables import ItemUpdate, get_items, insert_items, update_items
from quarterhour.aws.workers import Workers
from tests.contract.storage import Storage

VALUES = {"text": 'it\'s "é" ?', "empty": "", "open": {"list": [1, None, True], "map": {"totals": "1 2"}}}


def key(own: str, number: int) -> dict[str, str]:
    return {"pk": f"{own}-{number}", "sk": "latest"}


def change(own: str, number: int, version: int, **values: Any) -> ItemUpdate:
    """Return the change of an item from a version to the next."""
    return ItemUpdate(key(own, number), to_item({**values, "version": version + 1}), version)


def put(storage: Storage, own: str, count: int, **values: Any) -> None:
    """Put items of version 3."""
    items = [to_item({**key(own, number), **values, "version": 3}) for number in range(count)]
    insert_items(storage.dynamodb, storage.entity_table, items, storage.workers)


def stored(storage: Storage, own: str, count: int) -> list[dict[str, Any]]:
    """Return the items without their keys, in the order of their numbers."""
    keys = [key(own, number) for number in range(count)]
    found = map(from_item, get_items(storage.dynamodb, storage.entity_table, keys, storage.workers))
    items = sorted(found, key=lambda item: int(item["pk"].rpartition("-")[2]))
    return [{name: value for name, value in item.items() if name not in {"pk", "sk"}} for item in items]


def update(storage: Storage, *changes: ItemUpdate) -> list[ItemUpdate]:
    return update_items(storage.dynamodb, storage.entity_table, changes, storage.workers)


def test_any_number_of_items_is_changed_and_keeps_what_is_not_set(storage: Storage, own: str) -> None:
    put(storage, own, 60, text="old", kept="yes")
    assert update(storage, *(change(own, number, 3, **VALUES) for number in range(60))) == []
    assert stored(storage, own, 60) == [{**VALUES, "kept": "yes", "version": 4}] * 60


def test_an_item_of_another_version_or_none_stays_and_the_others_of_its_batch_are_changed(
    storage: Storage, own: str
) -> None:
    put(storage, own, 3, text="old")
    older, absent = change(own, 1, 2, text="new"), change(own, 7, 3, text="new")
    refused = update(storage, change(own, 0, 3, text="new"), older, absent, change(own, 2, 3, text="new"))
    assert refused == [older, absent]
    assert stored(storage, own, 8) == [
        {"text": "new", "version": 4},
        {"text": "old", "version": 3},
        {"text": "new", "version": 4},
    ]


def test_an_item_that_would_be_too_large_stays(storage: Storage, own: str) -> None:
    put(storage, own, 2)
    large = change(own, 0, 3, text="x" * 410_000)
    assert update(storage, large, change(own, 1, 3)) == [large]
    assert stored(storage, own, 2) == [{"version": 3}, {"version": 4}]


def test_a_call_that_names_a_key_twice_fails(storage: Storage, own: str) -> None:
    put(storage, own, 1)
    with pytest.raises(ClientError, match="ValidationException"):
        update(storage, change(own, 0, 3), change(own, 0, 4))


def test_a_table_that_does_not_exist_is_an_error(storage: Storage, own: str) -> None:
    with pytest.raises(ClientError, match="ResourceNotFound"):
        update_items(storage.dynamodb, "no-such-table", [change(own, 0, 3)], storage.workers)


def test_of_concurrent_changes_of_a_version_one_is_made(storage: Storage, own: str) -> None:
    put(storage, own, 2)

    def one(number: int) -> list[ItemUpdate]:
        contested = [change(own, 0, 3, text=str(number)), change(own, 1, 3, text=str(number))]
        return update_items(storage.dynamodb, storage.entity_table, contested, Workers(1))

    with ThreadPoolExecutor(8) as pool:
        refused = list(pool.map(one, range(8)))
    assert sum(2 - len(some) for some in refused) == 2
