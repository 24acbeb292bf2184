"""The vault's calls to DynamoDB, and the builders of their requests."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Final, Self

from botocore.exceptions import ClientError

from quarterhour.aws.entity import Values
from quarterhour.aws.expressions import NEW, expressions, put_request, query_request
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import code_of
from quarterhour.aws.tables import conditional_transaction, get_items, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.customers.keys import (
    FORGOTTEN,
    forgotten_key,
    name_key,
    name_of,
    token_in,
    token_key,
    token_of,
)
from quarterhour.model.errors import UnavailableError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the vault"
_KEY_BYTES: Final = 32


def create_request(table: str, name: str, key: str) -> Request:
    """Build the transaction that gives a customer a key, unless the customer has one."""
    token = token_of(key, name)
    puts = [
        put_request(table, {**name_key(name), "key": key}, NEW),
        put_request(table, {**token_key(token), "name": name}),
    ]
    return {"TransactItems": [{"Put": put} for put in puts]}


def forget_request(table: str, name: str, token: str, entry: Values) -> Request:
    """Build the transaction that deletes a customer's key and name and writes the log, if the key is the token's.

    The token's item says so: it comes and goes with the key. The customer can have another key by now.
    """
    condition = expressions({}, ConditionExpression="attribute_exists(pk)")
    return {
        "TransactItems": [
            {"Delete": {"TableName": table, "Key": to_item(name_key(name))}},
            {"Delete": {"TableName": table, "Key": to_item(token_key(token)), **condition}},
            {"Put": put_request(table, entry)},
        ]
    }


def forgotten_request(table: str) -> Request:
    """Build the Query for the log of forgotten customers, the oldest first."""
    return query_request(table, "pk = :log", {"log": FORGOTTEN})


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn an error of DynamoDB or KMS, such as a key that is disabled, into ``UnavailableError``, which names it."""
    try:
        yield
    except ClientError as error:
        raise UnavailableError(f"the vault is not available: {code_of(error)}") from error


@dataclass(frozen=True, slots=True)
class VaultStore:
    """The vault: for each customer an item with the key, by name, and one with the name, by token."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the vault of a function."""
        return cls(resources.dynamodb, resources.env.text("VAULT_TABLE"), resources.workers)

    def tokens(self, names: Collection[str]) -> dict[str, str]:
        """Return the token of each of these customers that has a key."""
        with _refusals():
            items = get_items(self.client, self.table, [name_key(name) for name in names], self.workers)
        found = ((name_of(values), values["key"]) for values in map(from_item, items))
        return {name: token_of(key, name) for name, key in found}

    def create(self, names: Collection[str], in_time: Callable[[], bool]) -> None:
        """Give each of these customers a key, unless the customer has one, or none can be written in time."""

        def create(name: str) -> None:
            if not in_time():
                return
            request = create_request(self.table, name, token_hex(_KEY_BYTES))
            with suppress(UnavailableError), _refusals():
                conditional_transaction(lambda: self.client.transact_write_items(**request), _TABLE)

        self.workers.map(create, names)

    def names(self, tokens: Collection[str]) -> dict[str, str]:
        """Return the name of each of these tokens' customers, but for those that were forgotten."""
        with _refusals():
            items = get_items(self.client, self.table, [token_key(token) for token in tokens], self.workers)
        return {token_in(values): values["name"] for values in map(from_item, items)}

    def forget(self, name: str, token: str, at: str, why: Mapping[str, str]) -> bool:
        """Delete a customer's key and name, and write the log; return whether the key was the token's.

        ``at``: ISO 8601, milliseconds. ``why``: who decided (``by``) and the ``reason``.
        """
        request = forget_request(self.table, name, token, {**forgotten_key(at, token), **why})
        with _refusals():
            return conditional_transaction(lambda: self.client.transact_write_items(**request), _TABLE)

    def forgotten(self) -> Iterator[Values]:
        """Yield the log of forgotten customers, the oldest first."""
        with _refusals():
            for items in query_pages(self.client, forgotten_request(self.table), Workers(1)):
                yield from map(from_item, items)
