"""The vault's keys and the tokens of customers, built and parsed only here."""

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from quarterhour.aws.entity import Key
from quarterhour.model.identifiers import SEPARATOR, base58_prefix

NAMES: Final = f"NAME{SEPARATOR}"
TOKENS: Final = f"TOKEN{SEPARATOR}"
FORGOTTEN: Final = "FORGOTTEN"
"""The partition key of the log of forgotten customers."""

_PREFIX: Final = "ct_"
_LENGTH: Final = 22
_FORM: Final = rf"{_PREFIX}[1-9A-HJ-NP-Za-km-z]{{{_LENGTH}}}"
_TOKEN: Final = re.compile(_FORM)
QUOTED: Final = re.compile(f'"({_FORM})"')
"""A token as a whole string of JSON."""


def token_of(key: str, name: str) -> str:
    """Return the token of a customer: the HMAC-SHA256 of the name with the customer's key (hexadecimal)."""
    digest = hmac.new(bytes.fromhex(key), name.encode(), sha256).digest()
    return _PREFIX + base58_prefix(digest, _LENGTH)


def is_token(customer: str) -> bool:
    """Return whether an event's customer is a token, and not a name."""
    return _TOKEN.fullmatch(customer) is not None


def name_key(name: str) -> Key:
    """Return the key of the item that holds a customer's key."""
    return {"pk": f"{NAMES}{name}", "sk": "key"}


def name_of(values: Mapping[str, Any]) -> str:
    """Parse the name from an item that holds a customer's key."""
    return str(values["pk"]).removeprefix(NAMES)


def token_key(token: str) -> Key:
    """Return the key of the item that holds the name of a token's customer."""
    return {"pk": f"{TOKENS}{token}", "sk": "name"}


def token_in(values: Mapping[str, Any]) -> str:
    """Parse the token from the item that holds its customer's name."""
    return str(values["pk"]).removeprefix(TOKENS)


def forgotten_key(at: str, token: str) -> Key:
    """Return the key of an entry in the log of forgotten customers; ``at``: ISO 8601, milliseconds."""
    return {"pk": FORGOTTEN, "sk": f"{at}{SEPARATOR}{token}"}


def forgotten_in(values: Mapping[str, Any]) -> tuple[str, str]:
    """Parse instant and token from an entry in the log of forgotten customers."""
    at, _, token = str(values["sk"]).partition(SEPARATOR)
    return at, token
