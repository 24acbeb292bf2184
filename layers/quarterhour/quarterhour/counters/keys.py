"""The counters' keys in the Entity table, built and parsed only here."""

from datetime import date
from hashlib import sha256
from typing import Final

from quarterhour.aws.entity import LATEST, Key, Range
from quarterhour.model.identifiers import SEPARATOR, Account, Partition, base58_prefix
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour

ACCOUNTS: Final = "ACCOUNT#"
"""The prefix of every account's partition key."""
LISTED: Final = "listed"
"""The list of all accounts in the index, and the sort key of the items in it."""
_QUARTER_HOUR: Final = "QUARTER#"
_AFTER_DIGITS: Final = ":"
"""Sorts after every digit."""
_AFTER_NAMES: Final = "\U0010ffff"
"""Sorts after every name."""
_DAY: Final = "DAY#"
_PERIOD: Final = "PERIOD#"
_CUSTOMERS: Final = "CUSTOMERS"
_PAYS: Final = "PAYS#"
_SEEN: Final = "SEEN#"
_SEEN_LENGTH: Final = 22


def account_pk(account: Account) -> str:
    """Return the partition key of an account's counters: ``ACCOUNT#42#GBP``."""
    return f"{ACCOUNTS}{account}"


def account_of(pk: str) -> Account:
    """Parse the account from its partition key; raise ``ValueError`` for any other key."""
    if not pk.startswith(ACCOUNTS):
        raise ValueError(f"{pk!r} is no account")
    return Account.parse(pk.removeprefix(ACCOUNTS))


def account_pk_bounds(agency: str | None) -> tuple[str, str]:
    """Return the bounds of the partition keys of an agency's accounts, or (``None``) of all accounts."""
    prefix = ACCOUNTS if agency is None else account_pk(Account(agency, ""))
    return prefix, prefix + _AFTER_NAMES


def latest_key(account: Account) -> Key:
    """Return the key of an account's lifetime totals."""
    return {"pk": account_pk(account), "sk": LATEST}


def listed_key(account: Account) -> Key:
    """Return the key of the item by which the index finds an account; it never changes."""
    return {"pk": account_pk(account), "sk": LISTED}


def quarter_hour_key(account: Account, quarter_hour: QuarterHour) -> Key:
    """Return the key of an account's totals in a quarter-hour; the item also holds the watermarks of its shards."""
    return {"pk": account_pk(account), "sk": quarter_hour_sk(quarter_hour)}


def day_key(account: Account, day: date) -> Key:
    """Return the key of an account's totals of a day."""
    return {"pk": account_pk(account), "sk": day_sk(day)}


def period_key(account: Account, period: Period) -> Key:
    """Return the key of an account's totals of a period."""
    return {"pk": account_pk(account), "sk": period_sk(period)}


def period_sk_bounds() -> tuple[str, str]:
    """Return the bounds of the sort keys of the counters of all periods."""
    return _PERIOD, f"{_PERIOD}{_AFTER_DIGITS}"


def period_of(sk: str) -> Period:
    """Parse the period from the sort key of its counter."""
    return Period.parse(sk.removeprefix(_PERIOD))


def day_sk(day: date) -> str:
    """Return the sort key of a day's counter."""
    return f"{_DAY}{day.isoformat()}"


def period_sk(period: Period) -> str:
    """Return the sort key of a period's counter."""
    return f"{_PERIOD}{period}"


def customers_sk(day: date | None) -> str:
    """Return the sort key of a number of distinct customers: of a day, or (``None``) of the lifetime."""
    return _CUSTOMERS + (f"#{day.isoformat()}" if day else "")


def customers_key(account: Account, day: date | None) -> Key:
    """Return the key of an account's number of distinct customers: of a day, or (``None``) of its lifetime."""
    return {"pk": account_pk(account), "sk": customers_sk(day)}


def customers_day_of(sk: str) -> date:
    """Parse the day from the sort key of a day's number of distinct customers."""
    return date.fromisoformat(sk.removeprefix(f"{_CUSTOMERS}#"))


def paid_statement_key(account: Account, position: str) -> Key:
    """Return the key of a payment that names a statement: ``ACCOUNT#42#GBP``, ``PAYS#`` and its position."""
    return {"pk": account_pk(account), "sk": f"{_PAYS}{position}"}


def paid_on(sk: str) -> date:
    """Parse the day of its recording from the sort key of a payment that names a statement."""
    return date.fromisoformat(sk.removeprefix(_PAYS)[: len("2026-10-23")])


def payments_and_periods(account: Account) -> Range:
    """Return the payments of an account that name a statement and the counters of its periods, which are neighbours.

    The counters come first, the last period first; then the payments, the last recorded first.
    """
    return Range(account_pk(account), _PAYS, period_sk_bounds()[1], descending=True, consistent=True)


def marker_key(counter: Key, customer: str) -> Key:
    """Return the key of the marker that a customer is counted; the key holds a hash, not the name."""
    digest = sha256("\n".join((counter["pk"], counter["sk"], customer)).encode()).digest()
    return {"pk": _SEEN + base58_prefix(digest, _SEEN_LENGTH), "sk": "seen"}


def place(partition: Partition, seq: str) -> str:
    """Return the place of a posting: its partition, and its ``seq`` in the stream as in ``plan.StreamPosting``."""
    return f"{partition}{SEPARATOR}{seq}"


def place_quarter_hour(text: str) -> QuarterHour:
    """Parse the quarter-hour from a place."""
    return Partition.parse(text.rpartition(SEPARATOR)[0]).quarter_hour


def quarter_hour_sk(quarter_hour: QuarterHour) -> str:
    """Return the sort key of a quarter-hour's counter."""
    return f"{_QUARTER_HOUR}{quarter_hour}"


def quarter_hour_sk_bounds(first: QuarterHour, last: QuarterHour) -> tuple[str, str]:
    """Return the bounds of the sort keys of the counters of some quarter-hours, both included."""
    return quarter_hour_sk(first), quarter_hour_sk(last)


def quarter_hour_of(sk: str) -> QuarterHour:
    """Parse the quarter-hour from the sort key of its counter."""
    return QuarterHour.parse(sk.removeprefix(_QUARTER_HOUR))


def shard_name(partition: Partition) -> str:
    """Return the name of a partition's shard among the watermarks of its quarter-hour: ``03``."""
    return str(partition).rpartition(SEPARATOR)[2]


def is_quarter_hour(sk: str) -> bool:
    """Return whether a sort key is that of a quarter-hour's counter."""
    return sk.startswith(_QUARTER_HOUR)


def is_day(sk: str) -> bool:
    """Return whether a sort key is that of a day's counter."""
    return sk.startswith(_DAY)


def is_period(sk: str) -> bool:
    """Return whether a sort key is that of a period's counter."""
    return sk.startswith(_PERIOD)


def is_customers(sk: str) -> bool:
    """Return whether a sort key is that of a number of distinct customers, of a day or of the lifetime."""
    return sk.startswith(_CUSTOMERS)


def day_of(sk: str) -> date:
    """Parse the day from the sort key of a day counter."""
    return date.fromisoformat(sk.removeprefix(_DAY))
