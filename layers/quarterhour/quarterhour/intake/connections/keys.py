"""The keys of connections, their states and their parked deliveries in the Entity table, built only here."""

import re
from hashlib import sha256
from typing import Final

from quarterhour.aws.entity import Key, Range
from quarterhour.model.identifiers import SEPARATOR, base58_prefix

CONNECTIONS: Final = "CONNECTIONS"
"""The partition of the connections, by name."""
STATES: Final = "CONNECTION-STATES"
"""The partition of what connections have delivered, by name."""
PARKED: Final = f"PARKED{SEPARATOR}"
CONTENT: Final = f"PARKED-CONTENT{SEPARATOR}"
_FIRST: Final = " "
_LAST: Final = "~"
_ID_LENGTH: Final = 22
_ID: Final = re.compile(rf"[1-9A-HJ-NP-Za-km-z]{{{_ID_LENGTH}}}", re.ASCII)


def connection_key(name: str) -> Key:
    """Return the key of a connection."""
    return {"pk": CONNECTIONS, "sk": name}


def connections(after: str | None = None) -> Range:
    """Return all connections behind a name, by name, read with strong consistency."""
    return Range(CONNECTIONS, _FIRST, _LAST, after=after, consistent=True)


def state_key(name: str) -> Key:
    """Return the key of what a connection has delivered."""
    return {"pk": STATES, "sk": name}


def delivery_id(topic: str, body: bytes) -> str:
    """Return the id of a parked delivery, which follows from its content: so a repeated one is parked once."""
    return base58_prefix(sha256(topic.encode(errors="surrogatepass") + b"\n" + body).digest(), _ID_LENGTH)


def is_delivery_id(text: str) -> bool:
    """Return whether a text is the id of a delivery."""
    return _ID.fullmatch(text) is not None


def parked_key(name: str, id_: str) -> Key:
    """Return the key of a parked delivery of a connection."""
    return {"pk": f"{PARKED}{name}", "sk": id_}


def parked(name: str, after: str | None = None) -> Range:
    """Return the parked deliveries of a connection behind an id, read with strong consistency."""
    return Range(f"{PARKED}{name}", _FIRST, _LAST, after=after, consistent=True)


def content_key(name: str, id_: str, number: int) -> Key:
    """Return the key of one part of the content of a parked delivery."""
    return {"pk": f"{CONTENT}{name}", "sk": f"{id_}{SEPARATOR}{number}"}
