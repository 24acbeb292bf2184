"""The exchange rates' keys in the Entity table, built and parsed only here."""

import re
from datetime import datetime
from typing import Final

from quarterhour.aws.entity import LATEST, Key, Range
from quarterhour.model.clock import MILLISECOND, iso_millis
from quarterhour.model.instants import ALWAYS, rounded_up

RATES: Final = "RATE#"
"""The prefix of the partition keys of all currencies' rates."""
CODE: Final = "three capital letters, a currency of now or of the past, such as GBP"

_AS_OF: Final = "AS_OF#"
_CODE: Final = re.compile(r"[A-Z]{3}", re.ASCII)


def is_code(text: str) -> bool:
    """Return whether a text has the form of a currency's code.

    Currencies that have ended had rates, too, so no list is checked.
    """
    return _CODE.fullmatch(text) is not None


def parse_code(text: str) -> str:
    """Parse a currency's code; raise ``ValueError`` for a malformed one."""
    if not is_code(text):
        raise ValueError(text)
    return text


def rate_pk(currency: str) -> str:
    """Return the partition key of a currency's rates: ``RATE#GBP``."""
    return f"{RATES}{currency}"


def currency_of(pk: str) -> str:
    """Parse the currency from its partition key; raise ``ValueError`` for any other key."""
    if not pk.startswith(RATES):
        raise ValueError(f"{pk!r} is of no currency")
    return parse_code(pk.removeprefix(RATES))


def latest_key(currency: str) -> Key:
    """Return the key of the rate in force now."""
    return {"pk": rate_pk(currency), "sk": LATEST}


def history_key(currency: str, as_of: datetime) -> Key:
    """Return the key of the rate that was entered as of an instant: ``AS_OF#2026-10-23T01:30:00.000Z``."""
    return {"pk": rate_pk(currency), "sk": f"{_AS_OF}{iso_millis(as_of)}"}


def used_key(currency: str) -> Key:
    """Return the key of the last use of a currency's rates by a report: ``RATE-USE#GBP``, ``last``.

    It is not in the partition of the rates, as the reports may write this item, and no rate.
    """
    return {"pk": f"RATE-USE#{currency}", "sk": "last"}


def history_between(currency: str, start: datetime, end: datetime) -> Range:
    """Return the range of the rates entered as of an instant from ``start`` to before ``end``, the oldest first."""
    first, after = (rounded_up(at, MILLISECOND) for at in (start, end))
    low, high = (history_key(currency, at)["sk"] for at in (first, after - MILLISECOND))
    return Range(rate_pk(currency), low, high)


def history_after(currency: str, at: datetime) -> Range:
    """Return the range of the rates entered as of a later instant, the oldest first."""
    first, last = history_key(currency, at + MILLISECOND), history_key(currency, ALWAYS[1] - MILLISECOND)
    return Range(first["pk"], first["sk"], last["sk"], consistent=True)


def history_until(currency: str, at: datetime) -> Range:
    """Return the range of the rates entered as of an instant or earlier, the newest first."""
    last = history_key(currency, at)
    return Range(last["pk"], _AS_OF, last["sk"], descending=True, consistent=True)
