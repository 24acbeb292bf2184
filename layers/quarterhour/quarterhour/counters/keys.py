"""The counters' keys in the Entity table, built and parsed here alone."""

from datetime import date
from hashlib import sha256
from typing import Final

from base58 import b58encode

from quarterhour.aws.entity import LATEST, Key
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.quarter_hours import QuarterHour

ACCOUNTS: Final = "ACCOUNT#"
"""What the partition keys of all accounts begin with."""
_QUARTER: Final = "QUARTER#"
_BEHIND_SHARDS: Final = ":"
"""What sorts behind every shard of a quarter-hour."""
_DAY: Final = "DAY#"
_CUSTOMERS: Final = "CUSTOMERS"
_SEEN: Final = "SEEN#"
_SEEN_LENGTH: Final = 22


def account_pk(account: Account) -> str:
    """Return the partition of all that is counted of an account: ``ACCOUNT#42#GBP``."""
    return f"{ACCOUNTS}{account}"


def account_of(pk: str) -> Account:
    """Read the account from its partition key; raise ``ValueError`` where it is none."""
    if not pk.startswith(ACCOUNTS):
        raise ValueError(f"{pk!r} is no account")
    return Account.parse(pk.removeprefix(ACCOUNTS))


def latest_key(account: Account) -> Key:
    """Return the key of the lifetime totals."""
    return {"pk": account_pk(account), "sk": LATEST}


def quarter_hour_key(account: Account, partition: Partition) -> Key:
    """Return the key of a partition's totals, which is the watermark too."""
    return {"pk": account_pk(account), "sk": f"{_QUARTER}{partition}"}


def day_key(account: Account, day: date) -> Key:
    """Return the key of a day's totals."""
    return {"pk": account_pk(account), "sk": f"{_DAY}{day.isoformat()}"}


def customers_key(account: Account, day: date | None) -> Key:
    """Return the key of the number of distinct customers, of a day or (``None``) of the account's lifetime."""
    return {"pk": account_pk(account), "sk": _CUSTOMERS + (f"#{day.isoformat()}" if day else "")}


def customers_day_of(sk: str) -> date:
    """Read the day from the sort key of a day's number of distinct customers."""
    return date.fromisoformat(sk.removeprefix(f"{_CUSTOMERS}#"))


def seen_key(counter: Key, customer: str) -> Key:
    """Return the key of the marker that a customer stands in a count; the name itself is not kept."""
    digest = sha256("\n".join((counter["pk"], counter["sk"], customer)).encode()).digest()
    return {"pk": _SEEN + b58encode(digest).decode()[:_SEEN_LENGTH], "sk": "seen"}


def quarter_hour_sk(quarter_hour: QuarterHour) -> str:
    """Return where a quarter-hour's counters begin in the sort order."""
    return f"{_QUARTER}{quarter_hour}"


def quarter_hour_sks(first: QuarterHour, last: QuarterHour) -> tuple[str, str]:
    """Return the bounds of the sort keys of quarter-hours' counters, from one to another, both included."""
    return quarter_hour_sk(first), quarter_hour_sk(last) + _BEHIND_SHARDS


def partition_of(sk: str) -> Partition:
    """Read the partition from the sort key of a quarter-hour counter."""
    return Partition.parse(sk.removeprefix(_QUARTER))


def day_of(sk: str) -> date:
    """Read the day from the sort key of a day counter."""
    return date.fromisoformat(sk.removeprefix(_DAY))
