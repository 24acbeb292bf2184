"""What counting costs, by DynamoDB's published sizing rules: units of an event, and bytes of the account item."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Final

from quarterhour.aws.items import to_item
from quarterhour.aws.streams import SEQUENCE_DIGITS
from quarterhour.counters.plan import Addition, CounterWrite
from quarterhour.counters.windows import AccountState, Window
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour_tools.emulator.dynamodb.sizes import WRITE_BYTES, item_size
from tests.support.builders import posting_item, record, utc
from tests.support.counter_table import CounterTable

AGENCY: Final = "Lakeside Gifts and Homeware Ltd"
ACCOUNT: Final = Account(AGENCY, "GBP")
SO_FAR: Final = Totals(
    1_067_371, Decimal("9747747.934"), Decimal("-896812.490"), Decimal("1106366.7955500"), Decimal("1050000.00")
)
"""What two years of the public retail data come to: over a million lines, prices of two and three decimals."""


def units(writes: Sequence[CounterWrite]) -> int:
    """Return the write units of a write: of a transaction twice those of its items."""
    sizes = [
        item_size(to_item({**one.counter, "customers": 1_000, "expires_at": 1_800_000_000, "left_at": 100_000}))
        if isinstance(one, Addition)
        else item_size(to_item(one.values))
        for one in writes
    ]
    whole = sum(-(-size // WRITE_BYTES) for size in sizes)
    return whole if len(writes) == 1 else 2 * whole


def month(agency: str, every: timedelta, days: int) -> Iterator[dict[str, Any]]:
    """Yield the records of an account's sales that come so often on average, by chance."""
    random, at, seq = Random(7), utc("00:00"), 10**21  # noqa: S311 - the same figures in every run
    end = at + timedelta(days=days)
    while (at := at + every * random.expovariate(1)) < end:
        seq += random.randrange(1, 10**12)
        yield record(seq, sale(agency, at, random))


def sale(agency: str, at: datetime, random: Random) -> dict[str, Any]:
    amount = Decimal(random.randrange(85, 60_000)) / 100 * (-1 if random.random() < 0.02 else 1)
    return posting_item(
        f"{agency}#GBP",
        f"{amount:.2f}",
        commission=f"{amount * Decimal('0.125'):.5f}",
        quarter_hour=str(Partition(QuarterHour.at(at), 0)),
        position=str(Position.of(Identity("till", at.isoformat()).hash, at).at(0)),
        period=f"{at:%Y-%m}" if random.random() < 0.98 else "2026-09",
    )


def counted(every: timedelta, days: int = 2) -> tuple[CounterTable, int]:
    """Count an account's sales, each in a separate batch; return the table and the number of sales."""
    table = CounterTable()
    state = AccountState(ACCOUNT, SO_FAR, 1_000_000, "2026-10-22T23:00:00.000Z", {})
    table.items[f"ACCOUNT#{ACCOUNT}", "latest"] = state.item()
    function, sales = table.function(), 0
    for one in month(AGENCY, every, days):
        assert function.apply([one]) == {"batchItemFailures": []}
        sales += 1
    return table, sales


EVERY: Final = timedelta(days=30) / (5_000_000 / 300)
"""Between two events of an account, if 300 accounts have 5 million a month."""


def test_an_event_costs_at_most_1_6_units_if_each_is_of_another_account_in_its_batch() -> None:
    table, sales = counted(EVERY)
    cost = sum(map(units, table.written)) / sales
    assert cost <= 1.6, f"{cost:.3f} units"


def latest_sizes(table: CounterTable) -> list[int]:
    return [
        item_size(to_item(one.values)) for write in table.written for one in write[:1] if not isinstance(one, Addition)
    ]


def test_the_account_item_stays_below_1_kb_at_one_shard() -> None:
    """With the totals of years, a long name, two open quarter-hours, two open periods and two open days."""
    table, _ = counted(EVERY / 4, days=1)
    largest = max(latest_sizes(table))
    assert largest < WRITE_BYTES, f"{largest} bytes"


def test_each_further_shard_costs_48_bytes_in_each_open_quarter_hour() -> None:
    def size(shards: int) -> int:
        seq = "9" * SEQUENCE_DIGITS + ".0499"
        window = Window(SO_FAR, {f"{shard:02d}": seq for shard in range(shards)})
        state = AccountState(ACCOUNT, SO_FAR, 1_000_000, "2026-10-22T23:00:00.000Z", {"QUARTER#202610230130": window})
        return item_size(to_item(state.item()))

    assert [size(shards) - size(1) for shards in (2, 16, 64)] == [48, 15 * 48, 63 * 48]
