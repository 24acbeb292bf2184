"""Every key, built and parsed."""

from datetime import UTC, date, datetime, timedelta

import base58
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quarterhour.counters import keys as counters
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.identifiers import MAX_SHARDS, Account, Identity, Partition, Position, base58_prefix
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour, span
from quarterhour.reports import keys as reports
from quarterhour.snapshots import keys as snapshots
from quarterhour.snapshots.keys import WINDOW_SHARDS, window_index, window_partitions
from quarterhour.snapshots.layers import Layer
from tests.support.builders import AT, accounts, identities, instants, millis, partitions, quarter_hours
from tests.support.cases import cases

FIVE_MINUTES = Layer("5m", timedelta(minutes=5), timedelta(hours=24))
CHANGES = Layer("change", None, timedelta(hours=1))
days = st.dates(date(2000, 1, 1), date(2999, 12, 31))


# ---------------------------------------------------------------- the ledger's


@given(identities)
def test_an_identity_is_parsed_back_from_its_key(identity: Identity) -> None:
    assert Identity.parse(str(identity)) == identity


@given(one=identities, other=identities)
def test_two_identities_never_share_a_key(one: Identity, other: Identity) -> None:
    assert (str(one) == str(other)) == (one == other)


def test_the_same_id_of_another_source_is_another_event() -> None:
    assert Identity("shop", "1") != Identity("fair", "1")
    assert Identity("shop", "11").hash != Identity("shop1", "1").hash


@given(partitions)
def test_a_partition_is_parsed_back_from_its_key(partition: Partition) -> None:
    assert Partition.parse(str(partition)) == partition


@given(one=partitions, other=partitions)
def test_partitions_sort_by_time_and_then_by_shard_as_their_keys_do(one: Partition, other: Partition) -> None:
    assert (one < other) == (str(one) < str(other))


@cases(
    "key",
    [
        "",
        "202610230130",
        "202610230131#00",
        "202610230130#",
        "202610230130#x",
        "202610230130#0",
        "202610230130#000",
        "202610230130#-1",
        "202610230130# 1",
        "202610230130#00#00",
    ],
)
def test_a_key_that_is_not_a_partition_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Partition.parse(key)


@given(identity=identities, instant=instants, shards=st.integers(1, MAX_SHARDS))
def test_an_event_goes_to_the_quarter_hour_of_its_recording_and_always_to_the_same_shard(
    identity: Identity, instant: datetime, shards: int
) -> None:
    partition = Partition.of(identity.hash, instant, shards)
    assert partition.quarter_hour == QuarterHour.at(instant)
    assert 0 <= partition.shard < shards
    assert Partition.of(identity.hash, AT, shards).shard == partition.shard


def test_events_spread_evenly_over_the_shards() -> None:
    shards = [Partition.of(Identity("shop", str(i)).hash, AT, 4).shard for i in range(4000)]
    assert all(900 < shards.count(shard) < 1100 for shard in range(4))


@given(identity=identities, instant=millis)
def test_a_position_is_parsed_back_from_its_key(identity: Identity, instant: datetime) -> None:
    position = Position.of(identity.hash, instant)
    assert position.recorded_at == instant
    assert Position.parse(str(position)) == position


@given(one=identities, at=instants, other=identities, later=instants)
def test_positions_sort_like_time(one: Identity, at: datetime, other: Identity, later: datetime) -> None:
    first, second = Position.of(one.hash, at), Position.of(other.hash, later)
    assert (first < second) == (str(first) < str(second))
    if iso_millis(at) < iso_millis(later):
        assert str(first) < str(second)


@given(one=identities, other=identities)
def test_two_events_of_the_same_millisecond_have_different_positions(one: Identity, other: Identity) -> None:
    assume(one != other)
    assert Position.of(one.hash, AT) != Position.of(other.hash, AT)


@given(st.binary(max_size=64) | st.integers(0, 8).map(bytes), st.integers(0, 100))
def test_the_first_characters_in_base58_are_those_of_the_library(digest: bytes, length: int) -> None:
    assert base58_prefix(digest, length) == base58.b58encode(digest).decode()[:length]


def test_a_position_is_the_instant_and_16_characters_of_base58() -> None:
    text = str(Position.of(Identity("shop", "order-1").hash, AT))
    assert text.startswith("2026-10-23T01:30:12.345Z.")
    suffix = text.removeprefix("2026-10-23T01:30:12.345Z.")
    assert len(suffix) == 16
    assert not set(suffix) & set("0OIl+/=")


@cases(
    "key",
    [
        "",
        "2026-10-23T01:30:12.345Z",
        "2026-10-23T01:30:12.345Z.abc",
        "2026-10-23T01:30:12.345Z.1234567890123456.x",
        "2026-10-23T01:30:12.345.1234567890123456",
        "2026-10-23T01:30:12Z.1234567890123456",
        "2026-10-23T03:30:12.345+02:00.1234567890123456",  # the same instant, but it would not sort
        "20261023T013012.345Z.1234567890123456",
        "2026-10-23 01:30:12.345Z.1234567890123456",
        "yesterday.at.1234567890123456",
    ],
)
def test_a_key_that_is_not_a_position_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Position.parse(key)


@given(accounts)
def test_an_account_is_parsed_back_from_its_key(account: Account) -> None:
    assert Account.parse(str(account)) == account


# ---------------------------------------------------------------- the counters'


@given(account=accounts, partition=partitions, day=days)
def test_account_quarter_hour_and_day_are_parsed_back_from_the_counters_keys(
    account: Account, partition: Partition, day: date
) -> None:
    quarter_hour = counters.quarter_hour_key(account, partition.quarter_hour)
    found = counters.account_of(quarter_hour["pk"]), counters.quarter_hour_of(quarter_hour["sk"])
    assert found == (account, partition.quarter_hour)
    of_day = counters.day_key(account, day)
    assert counters.day_of(of_day["sk"]) == day
    of_period = counters.period_key(account, Period.of(day))
    assert counters.period_of(of_period["sk"]) == Period.of(day)
    first, last = counters.period_sk_bounds()
    assert first < of_period["sk"] < last
    assert len({key["sk"] for key in (counters.latest_key(account), quarter_hour, of_day, of_period)}) == 4


@given(partition=partitions)
def test_the_name_of_a_shard_is_that_of_its_partition(partition: Partition) -> None:
    assert f"{partition.quarter_hour}#{counters.shard_name(partition)}" == str(partition)


def test_the_counters_keys_are_those_of_the_data_model() -> None:
    account = Account("United Kingdom", "GBP")
    partition = Partition(QuarterHour.parse("202610230130"), 3)
    pk = "ACCOUNT#United Kingdom#GBP"
    assert counters.latest_key(account) == {"pk": pk, "sk": "latest"}
    assert counters.quarter_hour_key(account, partition.quarter_hour) == {"pk": pk, "sk": "QUARTER#202610230130"}
    assert counters.shard_name(partition) == "03"
    assert counters.day_key(account, date(2026, 10, 23)) == {"pk": pk, "sk": "DAY#2026-10-23"}


@pytest.mark.parametrize("pk", ["CONTROL", "ACCOUNT", "RUN#42#GBP", "42#GBP", "ACCOUNT#42"])
def test_a_key_of_another_entity_is_not_an_account(pk: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        counters.account_of(pk)


def test_an_agency_named_like_a_prefix_keeps_its_name() -> None:
    account = Account("ACCOUNT", "GBP")
    assert counters.account_of(counters.account_pk(account)) == account


@given(one=quarter_hours, first=quarter_hours, last=quarter_hours)
def test_the_bounds_of_quarter_hours_include_their_counters(
    one: QuarterHour, first: QuarterHour, last: QuarterHour
) -> None:
    low, high = counters.quarter_hour_sk_bounds(first, last)
    assert (low <= counters.quarter_hour_sk(one) <= high) == (first <= one <= last)


# ---------------------------------------------------------------- the snapshots'


@given(instant=instants, minutes=st.sampled_from([1, 5, 15, 30, 60, 240, 1440]))
def test_a_window_contains_its_instants(instant: datetime, minutes: int) -> None:
    window = timedelta(minutes=minutes)
    start = snapshots.window_start(instant, window)
    assert start <= instant < start + window
    midnight = start.replace(hour=0, minute=0)
    assert (start - midnight) % window == timedelta(0)


@given(one=instants, other=instants)
def test_windows_sort_like_time(one: datetime, other: datetime) -> None:
    earlier, later = sorted(snapshots.window_start(at, timedelta(minutes=5)) for at in (one, other))
    assert snapshots.window_name(FIVE_MINUTES, earlier) <= snapshots.window_name(FIVE_MINUTES, later)


def test_a_window_is_named_by_its_layer_and_its_start() -> None:
    start = snapshots.window_start(AT, timedelta(minutes=5))
    assert snapshots.window_name(FIVE_MINUTES, start) == "5m#2026-10-23T01:30:00Z"


@given(one=st.tuples(instants, st.integers(1, 10**9)), other=st.tuples(instants, st.integers(1, 10**9)))
def test_single_changes_sort_by_time_and_then_by_version(
    one: tuple[datetime, int], other: tuple[datetime, int]
) -> None:
    (at, version), (later, newer) = sorted([one, other])
    sks = [snapshots.change_sk(CHANGES, iso_millis(instant), n) for instant, n in ((at, version), (later, newer))]
    if iso_millis(at) < iso_millis(later) or version <= newer:
        assert sks == sorted(sks)


@given(accounts)
def test_an_entity_is_found_in_one_of_the_index_partitions_of_its_window(account: Account) -> None:
    pk = counters.account_pk(account)
    index = window_index("latest", pk)
    assert index["gsi1pk"] in window_partitions("latest")
    assert index["gsi1sk"] == pk


def test_a_window_is_spread_over_all_of_its_index_partitions() -> None:
    used = {window_index("latest", f"ACCOUNT#{i}#GBP")["gsi1pk"] for i in range(200)}
    assert used == set(window_partitions("latest"))
    assert len(used) == WINDOW_SHARDS


# ---------------------------------------------------------------- the reports'


@given(quarter_hours, st.none() | st.integers(0, 99))
def test_a_part_is_parsed_back_from_its_name_and_the_key_of_its_lines(
    quarter_hour: QuarterHour, number: int | None
) -> None:
    part = reports.Part(quarter_hour, number)
    assert reports.part_of_lines(part.lines_key) == reports.Part.parse(str(part)) == part
    assert not part.totals_key.startswith((reports.LEDGER, reports.REPORTS))


@pytest.mark.parametrize(
    "key",
    [
        "ledger/dt=2026-10-23/quarter=0130/lines.csv",
        "ledger/dt=2026-10-23/quarter=0130/lines.csv.gz.bak",
        "x/ledger/dt=2026-10-23/quarter=0130/lines.csv.gz",
        "reports/2026/10/23/0130-0230/manifest.json",
        "ledger/dt=2026-10-23/lines.csv.gz",
        "ledger/dt=2026-10-23/quarter=0130/lines-3.csv.gz",
    ],
)
def test_the_key_of_another_object_is_not_that_of_lines(key: str) -> None:
    assert reports.part_of_lines(key) is None


@given(first=quarter_hours, more=st.integers(0, 95))
def test_a_run_has_its_own_folder_below_its_day(first: QuarterHour, more: int) -> None:
    day = list(span(first, QuarterHour(first.start.replace(hour=23, minute=45))))
    last = day[min(more, len(day) - 1)]
    run = reports.run_id(first, last)
    assert reports.is_run_id(run)
    end = "2400" if last.end.date() > last.start.date() else f"{last.end:%H%M}"
    assert reports.run_prefix(run) == f"reports/{first.start:%Y/%m/%d}/{first.start:%H%M}-{end}/"


@given(one=st.tuples(quarter_hours, st.integers(0, 3)), other=st.tuples(quarter_hours, st.integers(0, 3)))
def test_runs_sort_like_time_as_names_and_as_folders(
    one: tuple[QuarterHour, int], other: tuple[QuarterHour, int]
) -> None:
    def run(first: QuarterHour, more: int) -> str:
        end_of_day = QuarterHour(first.start.replace(hour=23, minute=45))
        return reports.run_id(first, min(end_of_day, QuarterHour(first.start + more * timedelta(minutes=15))))

    assume(one[0] != other[0])
    earlier, later = sorted([one, other])
    assert run(*earlier) < run(*later)
    assert reports.run_prefix(run(*earlier)) < reports.run_prefix(run(*later))


def test_a_run_to_midnight_ends_at_2400() -> None:
    run = reports.run_id(QuarterHour.parse("202610232300"), QuarterHour.parse("202610232345"))
    assert run == "2026-10-23T2300-2400"
    assert reports.run_prefix(run) == "reports/2026/10/23/2300-2400/"


@given(st.text(st.sampled_from("0123456789-T/.\\\n%"), max_size=25) | st.text(max_size=25))
def test_a_runs_name_is_never_a_path(text: str) -> None:
    if reports.is_run_id(text):
        assert set(text) <= set("0123456789-T")
        assert len(text) == 20
    else:
        with pytest.raises(ValueError, match="is no run"):
            reports.run_prefix(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "../../../etc/passwd",
        "2026-10-23T0130-0230/",
        "2026-10-23T0130-0230/../x",
        "2026-10-23T0130-0230\n",
        "２０２６-10-23T0130-0230",  # noqa: RUF001 - digits, but not ours
        "2026-10-23T0130",
        "reports/2026/10/23/0130-0230/",
    ],
)
def test_a_text_that_is_not_a_run_is_refused(text: str) -> None:
    assert not reports.is_run_id(text)
    with pytest.raises(ValueError, match="is no run"):
        reports.run_prefix(text)


@pytest.mark.parametrize(
    ("now", "closed"),
    [
        ("2026-10-23T01:46:59.999999Z", "202610230115"),
        ("2026-10-23T01:47:00Z", "202610230130"),
        ("2026-10-23T02:01:59.999999Z", "202610230130"),
        ("2026-10-23T02:02:00Z", "202610230145"),
        ("2026-10-23T00:01:59Z", "202610222330"),
    ],
)
def test_a_quarter_hour_is_closed_when_it_is_over_and_past_its_grace(now: str, closed: str) -> None:
    assert str(reports.last_closed(parse_iso(now), timedelta(seconds=120))) == closed


@given(now=instants, grace=st.integers(0, 3600))
def test_the_last_closed_quarter_hour_is_the_newest_past_its_grace(now: datetime, grace: int) -> None:
    last = reports.last_closed(now, timedelta(seconds=grace))
    assert last.end + timedelta(seconds=grace) <= now < last.next.end + timedelta(seconds=grace)
    assert last.start.tzinfo is UTC


@given(account=accounts, other=accounts)
def test_an_agencys_accounts_are_within_its_bounds_and_no_others(account: Account, other: Account) -> None:
    low, high = counters.account_pk_bounds(account.agency)
    assert low <= counters.account_pk(account) <= high
    assert (low <= counters.account_pk(other) <= high) == (other.agency == account.agency)
    low, high = counters.account_pk_bounds(None)
    assert low <= counters.account_pk(account) <= high
