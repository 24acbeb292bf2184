"""Requests to DynamoDB with expressions: writes on a condition, and queries, without loading boto3.

In an expression, ``#status`` is the attribute of that name, for names that DynamoDB reserves. ``:status`` is a value,
which ``given`` has by that name: ``{"status": "open"}``.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from quarterhour.aws.items import Request, to_item

NEW: Final = "attribute_not_exists(pk)"
"""The condition that no item has the key."""
NONE: Final[Mapping[str, Any]] = {}
RETURN_EXISTING: Final[Request] = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
"""Makes a write return the item for which its condition does not hold."""

_NAME: Final = re.compile(r"#(\w+)")


def put_request(table: str, values: Mapping[str, Any], condition: str = "", given: Mapping[str, Any] = NONE) -> Request:
    """Build the PutItem of an item, or the put of a transaction."""
    return {"TableName": table, "Item": to_item(values), **expressions(given, ConditionExpression=condition)}


def update_request(
    table: str, key: Mapping[str, str], update: str, condition: str = "", given: Mapping[str, Any] = NONE
) -> Request:
    """Build the UpdateItem of the item with a key, or the update of a transaction."""
    made = expressions(given, UpdateExpression=update, ConditionExpression=condition)
    return {"TableName": table, "Key": to_item(key), **made}


def query_request(table: str, condition: str, given: Mapping[str, Any]) -> Request:
    """Build the Query of the items whose keys fulfil a condition."""
    return {"TableName": table, **expressions(given, KeyConditionExpression=condition)}


def set_all(values: Mapping[str, Any]) -> str:
    """Return the update that sets attributes to the values of their names."""
    return "SET " + ", ".join(f"#{name} = :{name}" for name in values)


def expressions(given: Mapping[str, Any], **texts: str) -> Request:
    """Return those expressions that are not empty, with the names and values that they use."""
    names = {f"#{name}": name for text in texts.values() for name in _NAME.findall(text)}
    return {
        **{kind: text for kind, text in texts.items() if text},
        **({"ExpressionAttributeNames": names} if names else {}),
        **({"ExpressionAttributeValues": to_item({f":{name}": one for name, one in given.items()})} if given else {}),
    }
