"""The calls that forgetting makes to the Entity table, and the builders of their requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quarterhour.aws.entity import IndexRange, Key, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Request, to_item
from quarterhour.aws.tables import conditional_transaction, conditional_write
from quarterhour.aws.workers import Workers
from quarterhour.messages.keys import MessageKey, claim_key
from quarterhour.orders.keys import HEADER, customer_pk

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from quarterhour.maintenance.forgetting.requests import RedactRequest

_PAGE = 100
_LOWEST, _HIGHEST = "0", "~"
"""Sort before and after every key of an order in the index of customers."""
REDACTED = "redacted"
"""The digest of a message's claim whose text was removed: no text has it, so no retry writes the text again."""


def order_request(table: str, entry: Values, name: str, token: str) -> Request:
    """Build the UpdateItem that gives an order or an item of it a token in place of its customer's name."""
    is_header = entry["sk"] == HEADER
    return {
        "TableName": table,
        "Key": to_item({"pk": entry["pk"], "sk": entry["sk"]}),
        "UpdateExpression": "SET gsi1pk = :after" + (", customer = :token" if is_header else ""),
        "ConditionExpression": "gsi1pk = :before",
        "ExpressionAttributeValues": to_item(
            {":before": customer_pk(name), ":after": customer_pk(token), **({":token": token} if is_header else {})}
        ),
    }


def redact_request(table: str, claim: Key, message: Key, redacted: Mapping[str, str]) -> Request:
    """Build the transaction that removes the text of a message, and what its claim keeps of the text."""
    return {
        "TransactItems": [
            {
                "Update": {
                    "TableName": table,
                    "Key": to_item(dict(claim)),
                    "UpdateExpression": "SET digest = :redacted",
                    "ConditionExpression": "attribute_exists(pk)",
                    "ExpressionAttributeValues": to_item({":redacted": REDACTED}),
                }
            },
            {
                "Update": {
                    "TableName": table,
                    "Key": to_item(dict(message)),
                    "UpdateExpression": "SET #text = :nothing, redacted = :redacted",
                    "ConditionExpression": "attribute_exists(pk)",
                    "ExpressionAttributeNames": {"#text": "text"},
                    "ExpressionAttributeValues": to_item({":nothing": "", ":redacted": redacted}),
                }
            },
        ]
    }


@dataclass(frozen=True, slots=True)
class ForgettingStore:
    """Orders and messages in the Entity table, as forgetting changes them."""

    client: "DynamoDBClient"
    entities: EntityReader
    workers: Workers

    def orders_of(self, name: str) -> list[Values]:
        """Return the index entries of a customer's orders and their items that hold the name."""
        found = self.entities.read_index(IndexRange("gsi1", customer_pk(name), _LOWEST, _HIGHEST), _PAGE)
        return list(found)

    def give_token(self, entries: list[Values], name: str, token: str) -> None:
        """Give orders and items a token in place of their customer's name; those that have one stay."""

        def give(entry: Values) -> None:
            request = order_request(self.entities.table, entry, name, token)
            conditional_write(lambda: self.client.update_item(**request), "the Entity table")

        # The headers last: an order whose header has the token is whole.
        for some in (
            [one for one in entries if one["sk"] != HEADER],
            [one for one in entries if one["sk"] == HEADER],
        ):
            self.workers.map(give, some)

    def redact(self, request: "RedactRequest", hash_: str, redacted: Mapping[str, str]) -> bool:
        """Remove the text of a message; return whether there is such a message.

        ``hash_``: that of the message's claim. ``redacted``: what the message keeps: ``at``, ``by`` and ``reason``.
        """
        claim = claim_key(hash_)
        values = self.entities.get(claim)
        if values is None:
            return False
        key = MessageKey.of(request.user, values["at"], hash_)
        message = {"pk": request.thread.partition(request.user), "sk": key.by_user}
        write = redact_request(self.entities.table, claim, message, redacted)
        return conditional_transaction(lambda: self.client.transact_write_items(**write), "the Entity table")
