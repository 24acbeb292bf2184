"""Planning of counter updates, pure: stream records to groups of postings, groups to the next state of an account.

- A group holds the postings of one account and one quarter-hour in a batch, and is counted with one write. So the
  account item is in the state of each quarter-hour's end, and snapshots keep that state.
- The watermark of a shard is the ``seq`` of its last counted posting. It moves with the totals or not at all: while a
  quarter-hour is open, both are in the account item, and afterwards in the quarter-hour's own item.
- Postings at or below the watermark of their own shard are dropped: an earlier delivery has counted them.
- A window that is over leaves the account item (``over``). A late record opens it there again, and it leaves with the
  same write.
- A quarter-hour keeps what it added to other periods than its own month, so that repairs can compare each quarter-hour
  by period.
- New customers are added to their counts with the postings that brought them (``distinct``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any, Final

from quarterhour.aws.entity import Key
from quarterhour.aws.streams import SEQUENCE_DIGITS, Poison, Record, is_insert, new_image, sequence, with_new_image
from quarterhour.counters.keys import (
    LISTED,
    account_pk,
    customers_day_of,
    customers_sk,
    day_of,
    day_sk,
    is_customers,
    is_day,
    is_period,
    is_quarter_hour,
    listed_key,
    paid_statement_key,
    period_sk,
    quarter_hour_of,
    quarter_hour_sk,
    shard_name,
)
from quarterhour.counters.windows import AccountState, Counter, Window, other_periods
from quarterhour.ledger.postings.posting import PaidStatement, Posting
from quarterhour.ledger.postings.segments import postings_of, segment_of
from quarterhour.model import money
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.errors import LedgerItemError
from quarterhour.model.identifiers import ITEM_POSITION_LENGTH, Account, Partition
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, RunningTotals, Totals, add_up, total
from quarterhour.snapshots.keys import window_index

LEAVE_AFTER: Final = timedelta(minutes=2)
"""How long after its end a window is over: the stream has usually delivered all records of it by then."""
MOST_PERIODS: Final = 90
"""The most periods that one write counts, so that the account item stays small."""
MOST_OPEN_PERIODS: Final = 12
"""With more open periods than this, all but the newest leave at once."""
MOST_LEAVING: Final = 98
"""The most windows that leave together: with the account item and its place in the list these are 100 items."""
MOST_PAYMENTS: Final = 40
"""The most payments that name a statement in one write. Each takes the place of a window that leaves."""


@dataclass(frozen=True, slots=True)
class StreamPosting:
    """A posting with its place in the stream, and the record that brought it.

    ``seq``: the sequence number of the record, padded, and the index of the posting if it is one of a segment:
    ``….0017``. As text, it rises from posting to posting, so that a watermark can lie within a segment.
    """

    seq: str
    posting: Posting
    record: Record = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Group:
    """The postings of a batch that are of one account and one quarter-hour, of any shards."""

    account: Account
    quarter_hour: QuarterHour
    postings: tuple[StreamPosting, ...]

    @property
    def partitions(self) -> set[Partition]:
        """The ledger partitions of the postings."""
        return {one.posting.partition for one in self.postings}


def group(records: Iterable[Record]) -> tuple[list[Group], list[Poison]]:
    """Group a batch by account and quarter-hour, each group in the order of the stream; return groups and poison.

    Poison is what can never be counted: a record that cannot be read, or a posting, alone in a record. Records other
    than inserts of ledger items are skipped.
    """
    postings: dict[tuple[Account, QuarterHour], list[StreamPosting]] = {}
    poison = []
    for record in filter(is_insert, records):
        try:
            found = postings_of(new_image(record))
        except (ValueError, LedgerItemError) as error:
            poison.append(Poison(record, str(error)))
            continue
        for values in found:
            try:
                posting = Posting.of(values)
            except ValueError as error:
                poison.append(Poison(with_new_image(record, segment_of([values])), str(error)))
                continue
            of = posting.account, posting.partition.quarter_hour
            seq = sequence(record) + values["position"][ITEM_POSITION_LENGTH:]
            postings.setdefault(of, []).append(StreamPosting(seq, posting, record))
    groups = [
        Group(account, quarter_hour, tuple(part))
        for (account, quarter_hour), some in postings.items()
        for part in _parts(sorted(some, key=lambda one: one.seq))
    ]
    return groups, poison


def each_alone(postings: Iterable[StreamPosting]) -> Iterator[Record]:
    """Yield for each posting its record with that posting alone, to be parked; each segment is unpacked once.

    ``postings``: those of a group, in its order.
    """
    for _, of_record in groupby(postings, key=lambda one: one.seq[:SEQUENCE_DIGITS]):
        some = list(of_record)
        record, indexes = some[0].record, {one.seq[SEQUENCE_DIGITS:] for one in some}
        for values in postings_of(new_image(record)):
            if values["position"][ITEM_POSITION_LENGTH:] in indexes:
                yield with_new_image(record, segment_of([values]))


def _parts(postings: Iterable[StreamPosting]) -> Iterator[list[StreamPosting]]:
    """Cut postings in the order of the stream, so that one write can count each part.

    No part has more than ``MOST_PERIODS`` periods, or more than ``MOST_PAYMENTS`` payments that name a statement.
    """
    part: list[StreamPosting] = []
    periods: set[Period] = set()
    payments = 0
    for one in postings:
        pays = one.posting.pays is not None
        has_all_periods = len(periods) == MOST_PERIODS and one.posting.period not in periods
        if has_all_periods or (pays and payments == MOST_PAYMENTS):
            yield part
            part, periods, payments = [], set(), 0
        part.append(one)
        periods.add(one.posting.period)
        payments += pays
    yield part


def by_account(groups: Iterable[Group]) -> dict[Account, list[Group]]:
    """Return the groups of each account by quarter-hour, those of one quarter-hour in their order."""
    accounts: dict[Account, list[Group]] = {}
    for one in sorted(groups, key=lambda one: one.quarter_hour):
        accounts.setdefault(one.account, []).append(one)
    return accounts


@dataclass(frozen=True, slots=True)
class Retention:
    """How long quarter-hour and day counters are kept; both far longer than the stream's 24 hours."""

    quarter_hour: timedelta = timedelta(days=35)
    day: timedelta = timedelta(days=800)


@dataclass(frozen=True, slots=True)
class NewCustomers:
    """New customers of a quarter-hour: in the count ``counter``, and in the quarter-hour's attribute ``tally``."""

    counter: Key
    tally: str
    customers: int


# ---------------------------------------------------------------- what is counted


def watermark(partition: Partition, state: AccountState, own: Mapping[str, Any]) -> str:
    """Return the ``seq`` of the last counted posting of a partition; empty if none is counted.

    ``own``: the quarter-hour's own item, empty if there is none. The ``seq`` of a counter is the watermark of all its
    shards: the quarter-hour was repaired.
    """
    shard = shard_name(partition)
    opened = state.windows.get(quarter_hour_sk(partition.quarter_hour), Window())
    of_shard = opened.watermarks.get(shard, ""), own.get("watermarks", {}).get(shard, "")
    return str(max(*of_shard, opened.seq, own.get("seq", "")))


def lacks_watermark(group: Group, state: AccountState) -> bool:
    """Return whether the account item lacks a watermark: the quarter-hour is new, or has left with it."""
    return not all(watermark(of, state, {}) for of in group.partitions)


def uncounted(group: Group, state: AccountState, own: Mapping[str, Any]) -> Group | None:
    """Return a group without the postings that are counted; ``None`` if all of them are.

    ``own``: as in ``watermark``.
    """
    counted = {partition: watermark(partition, state, own) for partition in group.partitions}
    new = tuple(one for one in group.postings if one.seq > counted[one.posting.partition])
    return replace(group, postings=new) if new else None


# ---------------------------------------------------------------- counting


def counted(state: AccountState, group: Group, customers: Sequence[NewCustomers]) -> AccountState:
    """Return the state after a group of which nothing is counted; ``customers`` are the new ones that it brings."""
    sums: dict[Period, RunningTotals] = {}
    for one in group.postings:
        posting = one.posting
        of_period = sums.get(posting.period) or sums.setdefault(posting.period, RunningTotals())
        of_period.add(posting.amount, posting.commission, is_payment=posting.is_payment, charges=posting.charges)
    return with_difference(
        state,
        group.quarter_hour,
        {period: running.totals() for period, running in sums.items()},
        customers=customers,
        watermarks=Window(watermarks={shard_name(one.posting.partition): one.seq for one in group.postings}),
        last_updated=iso_millis(max(one.posting.recorded_at for one in group.postings)),
    )


def with_difference(  # noqa: PLR0913 - all that the windows of a quarter-hour hold
    state: AccountState,
    quarter_hour: QuarterHour,
    delta: PeriodTotals,
    *,
    customers: Sequence[NewCustomers],
    watermarks: Window,
    last_updated: str,
) -> AccountState:
    """Return the state with a difference of a quarter-hour added to its windows, to its day, periods and lifetime.

    ``delta``: the difference by period. ``watermarks``: a window that holds nothing but the new watermarks.
    """
    whole, own_month = total(delta.values()), Period.of(quarter_hour.day)
    of_quarter_hour = replace(
        watermarks,
        totals=whole,
        periods={period: one for period, one in delta.items() if period != own_month},
        tallies={one.tally: one.customers for one in customers if one.customers},
    )
    windows = {
        quarter_hour_sk(quarter_hour): of_quarter_hour,
        day_sk(quarter_hour.day): Window(whole),
        **{period_sk(period): Window(one) for period, one in delta.items()},
        **{one.counter["sk"]: Window(tallies={"customers": one.customers}) for one in customers if one.customers},
    }
    return state.plus(whole, windows, last_updated)


# ---------------------------------------------------------------- leaving


def over(state: AccountState, most: int = MOST_LEAVING) -> list[str]:
    """Return the sort keys of the windows that leave with the next write, at most ``most``.

    A quarter-hour and a day are over ``LEAVE_AFTER`` their end, by the newest posting of the account: no clock decides.
    Whenever a window leaves, so do all periods but the newest, and with a day the lifetime's number of customers.
    """
    at = parse_iso(state.last_updated) - LEAVE_AFTER
    first_quarter_hour, today = quarter_hour_sk(QuarterHour.at(at)), at.date()
    ended = [sk for sk in state.windows if _ended(sk, first_quarter_hour, today.isoformat())]
    periods = sorted(filter(is_period, state.windows))
    if ended or len(periods) > MOST_OPEN_PERIODS:
        ended += periods[:-1]
    if any(map(is_day, ended)):
        ended += [sk for sk in (customers_sk(None),) if sk in state.windows]
    return ended[:most]


def _ended(sk: str, first_quarter_hour: str, today: str) -> bool:
    if is_quarter_hour(sk):
        return sk < first_quarter_hour
    return (is_day(sk) or (is_customers(sk) and sk != customers_sk(None))) and sk.rpartition("#")[2] < today


@dataclass(frozen=True, slots=True)
class CounterChange:
    """A counter to be written, and the version that the stored one must have (``None``: it must not exist)."""

    values: Counter
    version: int | None


@dataclass(frozen=True, slots=True)
class Addition:
    """Customers to be added to a count. ``expires`` in epoch seconds; ``left_at`` as in ``windows``."""

    counter: Key
    customers: int
    expires: int | None
    left_at: int | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """An item that is always the same: that by which the index finds an account, or a payment of a statement."""

    values: Counter


CounterWrite = CounterChange | Addition | Listing
"""One write of a transaction, or a write by itself."""


@dataclass(frozen=True, slots=True)
class CountingPlan:
    """The state of an account that is stored next, and the writes that store it; none if all is counted already."""

    stored: AccountState
    writes: Sequence[CounterWrite]

    @property
    def of_item_alone(self) -> CounterChange | None:
        """The change of the account item if nothing else is written; ``None`` if more is, or nothing."""
        first = self.writes[0] if len(self.writes) == 1 else None
        return first if isinstance(first, CounterChange) else None


def payments_in(group: Group) -> list[tuple[PaidStatement, Decimal]]:
    """Return the payments of a group that name a statement, with their amounts."""
    return [(paid, one.posting.amount) for one in group.postings if (paid := one.posting.pays)]


def paid_statement(account: Account, paid: PaidStatement, amount: Decimal, counted_at: int) -> Listing:
    """Return the item of a payment that names a statement.

    ``counted_at``: the version of the account item with which it is counted, in the same transaction; 0 if a rebuild
    has listed it.
    """
    return Listing(
        {
            **paid_statement_key(account, paid.position),
            "source": paid.identity.source,
            "id": paid.identity.id,
            "period": str(paid.period),
            "statement": paid.number,
            "amount": money.plain(amount),
            "counted_at": counted_at,
        }
    )


def changes(
    before: AccountState, after: AccountState, leaving: Sequence[str], own: Mapping[str, Counter], retention: Retention
) -> tuple[AccountState, list[CounterWrite]]:
    """Return the state that is stored next, ``after`` without the windows that leave, and the writes that store it.

    ``own``: the own items of the windows that leave, by sort key, read after ``before``. One write is the usual case.
    """
    stored = after.written(leaving, max(before.version, before.version_floor) + 1)
    writes: list[CounterWrite] = [CounterChange(stored.item(), before.version or None)]
    if not before.version:
        key = listed_key(after.account)
        writes.append(Listing({**key, **window_index(LISTED, key["pk"])}))
    return stored, writes + [_departure(stored, sk, after.windows[sk], own, retention) for sk in leaving]


def _departure(
    state: AccountState, sk: str, window: Window, own: Mapping[str, Counter], retention: Retention
) -> CounterWrite:
    key = {"pk": account_pk(state.account), "sk": sk}
    expires = expiry(sk, retention)
    if is_customers(sk):
        return Addition(key, window.tallies.get("customers", 0), expires, state.version)
    before = own.get(sk, {})
    version = int(before["version"]) if before else None
    more = {"version": (version or 0) + 1, "left_at": state.version, **({"expires_at": expires} if expires else {})}
    return CounterChange({**window.added_to({**before, **key}), **more}, version)


def expiry(sk: str, retention: Retention) -> int | None:
    """Return when a window's own item expires, in epoch seconds; ``None`` if it never does."""
    if is_quarter_hour(sk):
        return epoch(quarter_hour_of(sk).end + retention.quarter_hour)
    if is_day(sk):
        return epoch(QuarterHour.last_of(day_of(sk)).end + retention.day)
    if is_customers(sk) and sk != customers_sk(None):
        return epoch(QuarterHour.last_of(customers_day_of(sk)).end + retention.day)
    return None


def epoch(instant: datetime) -> int:
    """Return an instant as a TTL attribute: whole seconds since 1970."""
    return int(instant.timestamp())


# ---------------------------------------------------------------- quarter-hours


def of_quarter_hours(counters: Iterable[Mapping[str, Any]]) -> dict[QuarterHour, PeriodTotals]:
    """Return the totals of quarter-hours by period, from their counters."""
    found: dict[QuarterHour, PeriodTotals] = {}
    for values in counters:
        quarter_hour, others = quarter_hour_of(values["sk"]), other_periods(values)
        own = Totals.of(values) - total(others.values())
        sums = add_up({}, [(Period.of(quarter_hour.day), own), *others.items()])
        found[quarter_hour] = {period: totals for period, totals in sums.items() if totals != Totals()}
    return found
