"""Rebuilding an account's counters from the sealed ledger while new events keep coming."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from botocore.exceptions import ClientError

from quarterhour import aws, clock
from quarterhour.clock import iso_millis
from quarterhour.counters.distinct import sightings
from quarterhour.counters.keys import day_key, latest_key
from quarterhour.counters.plan import Change, Counter, Retention, counter_keys
from quarterhour.counters.rebuild import Truth, day_fix, lifetime_fix, of_day, partition_fix, truths
from quarterhour.counters.store import CounterStore
from quarterhour.entity import Key
from quarterhour.errors import UnavailableError
from quarterhour.ledger.keys import Account, Partition
from quarterhour.ledger.posting import Posting
from quarterhour.quarters import Quarter
from quarterhour.streams import Record, new_image
from quarterhour.totals import Totals


@dataclass(slots=True)
class Rebuilt:
    """What a rebuild looked at and mended."""

    accounts: int = 0
    mended: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return it as the function answers it."""
        return {"accounts": self.accounts, "mended": self.mended}


class Rebuilder:
    """Mends counters by what the sealed ledger says.

    Nothing is counted twice: each write is conditional on the versions read with it, which every counted batch moves,
    and a mended partition's watermark says that all of it is counted.
    """

    def __init__(self, store: CounterStore, retention: Retention, sealed_through: Quarter) -> None:
        self._store = store
        self._retention = retention
        self._through = sealed_through

    @property
    def _kept_from(self) -> Quarter:
        """The first quarter-hour whose counters are surely kept still."""
        return Quarter.at(clock.now() - self._retention.quarter + timedelta(days=1))

    def rebuild(self, sealed_lines: Iterable[Mapping[str, str]], only: Account | None) -> Rebuilt:
        """Mend the counters of one account or (``None``) of all that the sealed lines name.

        Raises ``UnavailableError`` where an account keeps changing: what was mended stays so, and it can run again.
        """
        result = Rebuilt()
        for account, truth in truths(sealed_lines, only, self._kept_from).items():
            self._mend_account(account, truth, result)
        return result

    def mender(self, sealed_lines: Callable[[], Iterable[Mapping[str, str]]]) -> Callable[[Record], bool]:
        """Return what applies a parked ledger record: its account is rebuilt, once for all of its records.

        It answers ``False`` for a record that is still no posting, or whose quarter-hour is not sealed yet.
        """

        @cache
        def rebuild(account: Account) -> None:
            self.rebuild(sealed_lines(), account)

        def mend(record: Record) -> bool:
            try:
                posting = Posting.of(new_image(record))
            except ValueError:
                return False
            if posting.partition.quarter > self._through:
                return False
            rebuild(posting.account)
            return True

        return mend

    def _mend_account(self, account: Account, truth: Truth, result: Rebuilt) -> None:
        result.accounts += 1
        for partition, totals in truth.partitions.items():
            result.mended += self._mend_partition(account, partition, totals)
        result.mended += self._mend_lifetime(account, truth)
        for day in truth.days:
            result.mended += self._mend_day(account, day, truth)
        for day, customers in truth.customers.items():
            for sighting in sightings(account, day, customers, self._retention):
                self._store.count_missing(sighting)

    def _mend_partition(self, account: Account, partition: Partition, totals: Totals) -> int:
        keys = counter_keys(account, partition)
        return self._mend(keys, lambda stored: partition_fix(account, partition, totals, stored, self._retention))

    def _mend_lifetime(self, account: Account, truth: Truth) -> int:
        def plan(stored: Mapping[str, Counter]) -> list[Change]:
            # Read after the counter: were more counted in between, its version would have moved.
            unsealed = of_day(self._store.counted_after(account, self._through), None)
            return lifetime_fix(account, truth.lifetime, unsealed, stored, iso_millis(self._through.start))

        return self._mend((latest_key(account),), plan)

    def _mend_day(self, account: Account, day: date, truth: Truth) -> int:
        if Quarter.last_of(day).end + self._retention.day <= clock.now():
            return 0

        def plan(stored: Mapping[str, Counter]) -> list[Change]:
            unsealed = of_day(self._store.counted_after(account, self._through), day)
            return day_fix(account, day, truth.days[day] + unsealed, stored, self._retention)

        return self._mend((day_key(account, day),), plan)

    def _mend(self, keys: tuple[Key, ...], plan: Callable[[Mapping[str, Counter]], list[Change]]) -> int:
        """Gather the counters, plan, apply; again where one has moved. Returns 1 where something was mended."""
        for attempt in range(aws.ATTEMPTS):
            changes = plan(self._store.read(keys))
            if not changes:
                return 0
            try:
                self._store.write(changes)
            except (ClientError, *aws.NETWORK_ERRORS) as error:
                if not (aws.is_cancelled(error) or aws.is_transient(error)):
                    raise
                aws.pause(attempt)
            else:
                return 1
        raise UnavailableError(f"{keys[0]['pk']} kept changing: run it again")
