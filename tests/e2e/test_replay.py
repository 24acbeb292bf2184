"""A file of events through the whole system."""

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from quarterhour.proof.reports import verify
from quarterhour_tools.bucket import Folder
from quarterhour_tools.cli import main
from quarterhour_tools.emulator.faults import FaultKind, Faults, Spec
from quarterhour_tools.emulator.http_api import Response
from quarterhour_tools.emulator.stack import Stack, open_stack
from quarterhour_tools.replay.replay import Replay, replaying
from tests.e2e.sales import START, day, event, lines, totals
from tests.support.events import payment

pytestmark = pytest.mark.slow


@contextmanager
def replay(
    engine: str, messages: list[str] | None = None, most: int = 500, *, orders: bool = False, **parameters: str | int
) -> Iterator[Replay]:
    with (
        open_stack(engine, parameters, virtual=True) as stack,
        replaying(stack, (messages if messages is not None else []).append, most, orders=orders) as replay,
    ):
        yield replay


def exact(accounts: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: {figure: Decimal(value) for figure, value in one.items()} for name, one in accounts.items()}


def test_every_sale_stands_in_the_counters_and_in_one_sealed_report(engine: str) -> None:
    with replay(engine) as tested:
        tested.play(lines(day()))
        outcome = tested.finish()
    result = outcome.as_dict()
    assert outcome.verified
    assert (result["sent"], result["recorded"], result["lines"]) == (60, 60, 60)
    assert exact(result["accounts"]) == exact(result["ledger"]) == totals(day())
    assert outcome.runs >= 2


def test_payments_of_a_file_are_verified_as_totals_of_their_own() -> None:
    paid = [payment("p1", "99.95"), payment("p2", "-1.50", agency="7 & sons/ü")]
    sent = [*day(), *({**one, "time": (START + timedelta(minutes=250)).isoformat()} for one in paid)]
    with replay("embedded") as tested:
        tested.play(lines(sent))
        outcome = tested.finish()
    result = outcome.as_dict()
    assert outcome.verified
    assert exact(result["accounts"]) == exact(result["ledger"]) == totals(sent)
    assert {account["payments"] for account in result["ledger"].values()} == {"99.95", "-1.50"}


def test_the_same_file_again_records_nothing_new(engine: str) -> None:
    with replay(engine) as tested:
        tested.play(lines(day()))
        tested.play(lines(day()))
        once = tested.finish()
        tested.play(lines(day()))
        again = tested.finish()
    assert (once.verdicts, again.verdicts) == ({"recorded": 60, "duplicate": 60}, {"recorded": 60, "duplicate": 120})
    assert once.lines == again.lines == 60
    assert again.counters == once.counters
    assert again.verified


@pytest.mark.parametrize("shards", [1, 3])
def test_shards_and_the_size_of_requests_change_no_sum(shards: int) -> None:
    with replay("embedded", most=7, LedgerShards=shards) as tested:
        tested.play(lines(day()))
        outcome = tested.finish()
    assert outcome.verified
    assert exact(outcome.as_dict()["accounts"]) == totals(day())


def bought() -> list[dict[str, Any]]:
    """Sales of twelve orders, of three items each, of two agencies; and others that name no order."""
    orders = [
        event(
            3 * number + line,
            20 * number,
            f"{number}.{line}0",
            "42" if line else "7",
            data={
                "amount": f"{number}.{line}0",
                "currency": "GBP",
                "commission_rate": "0.125",
                "order_id": f"order {number}/é",
                "product": f"P-{line}",
                "line": str(line + 1),
            },
        )
        for number in range(12)
        for line in range(3)
    ]
    return [*orders, event(100, 250), event(101, 250, "-0.50")]


def test_sales_sent_as_orders_come_to_the_same_sums(engine: str) -> None:
    with replay(engine, orders=True, most=5) as tested:
        tested.play(lines(bought()))
        once = tested.finish()
        tested.play(lines(bought()))
        again = tested.finish()
    assert once.verdicts == {"recorded": 38}
    assert again.verdicts == {"recorded": 38, "duplicate": 38}
    assert once.verified
    assert again.verified
    assert exact(once.as_dict()["ledger"]) == exact(again.as_dict()["ledger"]) == totals(bought())


def test_orders_come_through_faults_whole_and_are_billed_once() -> None:
    faults = Faults(Spec.parse("all=0.05,seed=3"))
    with (
        faults.installed(),
        open_stack("embedded", virtual=True, faults=faults) as stack,
        replaying(stack, orders=True) as tested,
    ):
        tested.play(lines(bought()))
        outcome = tested.finish()
    assert faults.struck
    assert outcome.verified
    assert set(outcome.verdicts) <= {"recorded", "duplicate"}
    assert exact(outcome.as_dict()["ledger"]) == totals(bought())


def test_bad_lines_are_reported_and_the_others_recorded() -> None:
    messages: list[str] = []
    mixed: list[dict[str, Any] | str] = [
        event(1),
        "no json at all",
        event(2),
        event(1, amount="9.99"),
        event(3, amount="-1", type="sale.recorded"),
        '{"data": {"amount": NaN}}',
        '{"a": 1, "a": 2}',
        "42",
        event(1),
        event(4),
    ]
    with replay("embedded", messages) as tested:
        tested.play(lines(mixed))
        outcome = tested.finish()
    assert (outcome.sent, outcome.unread) == (len(mixed) - 2, 2)
    assert outcome.verdicts == {"recorded": 3, "conflict": 1, "rejected": 3, "duplicate": 1}
    assert (outcome.counters, outcome.problems) == (outcome.ledger, ())
    assert not outcome.verified
    assert sorted(line.split(":")[0] for line in messages) == [f"line {n}" for n in (2, 4, 5, 6, 7, 8)]


def refunded(number: int, minutes: float, of: str) -> dict[str, Any]:
    """Return a refund of a sale."""
    back = event(number, minutes, amount="-0.01")
    return {**back, "type": "sale.refunded", "data": {**back["data"], "refers_to": of}}


def test_a_refund_before_its_sale_is_posted_within_a_quarter_of_an_hour(engine: str) -> None:
    late = event(2, 20)
    with replay(engine) as tested:
        tested.play(lines([refunded(1, 0, of=late["id"]), refunded(3, 1, of="none"), late, refunded(1, 0, late["id"])]))
        outcome = tested.finish()
    assert outcome.verdicts == {"recorded": 2, "duplicate": 1, "held": 1}
    assert (outcome.sent, outcome.lines, outcome.as_dict()["held"]) == (4, 2, 1)
    assert outcome.verified


def test_reports_are_the_rate_apart_while_events_come() -> None:
    for rate, runs in (("rate(1 hour)", 7), ("rate(15 minutes)", 25), ("rate(1 day)", 1)):
        with replay("embedded", ReportRate=rate) as tested:
            tested.play(lines([event(number, 15 * number) for number in range(25)]))
            outcome = tested.finish()
        assert outcome.verified
        assert outcome.runs == pytest.approx(runs, abs=1)
        assert outcome.lines == 25


def test_the_ledgers_clock_follows_the_events_and_never_goes_back() -> None:
    with replay("embedded") as tested:
        tested.play(lines([event(1, 60), event(2, 0), event(3, None), event(4, 90)]))
        assert tested.clock.now() == START + timedelta(minutes=90)
        outcome = tested.finish()
        with tested._stack.bucket.open("ledger/dt=2026-10-23/quarter=0900/lines.csv.gz") as file:
            sealed = gzip.decompress(file.read()).decode()
    assert outcome.lines == 4
    assert [sealed.count(f"sale-{n}") for n in (1, 2, 3, 4)] == [1, 1, 1, 0]


def test_the_same_file_gives_the_same_bytes(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        with replay("embedded") as tested:
            tested.play(lines(day()))
            tested.finish()
            tested._stack.bucket.copy_to(folder)
    one, two = ({key: (folder / key).read_bytes() for key in Folder(folder).keys()} for folder in folders)  # noqa: SIM118 - keys() of a folder
    assert one == two
    proof = verify(Folder(folders[0]).open, one)
    assert (proof.problems, proof.lines) == ([], 60)


def test_faults_at_the_functions_calls_change_no_sum() -> None:
    faults = Faults(Spec.parse("all=0.1,seed=11"))
    messages: list[str] = []
    with (
        faults.installed(),
        open_stack("embedded", virtual=True, faults=faults) as stack,
        replaying(stack, messages.append) as tested,
    ):
        tested.play(lines(day()))
        outcome = tested.finish()
    assert {kind for _, kind in faults.struck} >= {FaultKind.KILL_AFTER, FaultKind.THROTTLE, FaultKind.RESET_AFTER}
    assert outcome.verified
    assert exact(outcome.as_dict()["accounts"]) == totals(day())
    assert messages == []


def test_a_ledger_that_never_answers_leaves_its_events_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    with replay("embedded", messages) as tested:
        tested.play(lines([event(1)]))
        plain = tested._stack.invoke
        down = {"statusCode": 503, "body": "{}"}
        monkeypatch.setattr(
            tested._stack, "invoke", lambda name, *more: down if name == "ingest" else plain(name, *more)
        )
        tested.play(lines([event(2, 1), event(3, 1)]))
        monkeypatch.undo()
        outcome = tested.finish()
    assert outcome.verdicts == {"recorded": 1, "unavailable": 2}
    assert len(messages) == 2
    assert not outcome.verified


def test_a_counter_that_is_wrong_is_not_verified() -> None:
    with replay("embedded") as tested:
        tested.play(lines(day()))
        assert tested.finish().verified
        stack = tested._stack
        stack.dynamodb.update_item(
            TableName=stack.ref("EntityTable"),
            Key={"pk": {"S": "ACCOUNT#42#GBP"}, "sk": {"S": "latest"}},
            UpdateExpression="SET events = events + :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
        outcome = tested.finish()
    assert not outcome.verified


def test_nothing_at_all_is_verified_too() -> None:
    with replay("embedded") as tested:
        tested.play([])
        outcome = tested.finish()
    assert outcome.verified
    assert (outcome.sent, outcome.runs, outcome.lines) == (0, 0, 0)


def test_the_command_prints_one_object_and_writes_the_bucket(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "events.ndjson.gz"
    file.write_bytes(gzip.compress(b"".join(lines([*day(), {"no": "event"}]))))
    out = tmp_path / "out"
    assert main(["replay", str(file), str(file), "--json", "--out", str(out), "--rate", "rate(2 hours)"]) == 0
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert list(result) == [
        *("sent", "recorded", "duplicate", "conflict", "rejected", "unavailable", "held"),
        *("unread", "runs", "sealed_quarter_hours", "lines", "accounts", "ledger", "periods", "verified"),
    ]
    assert (result["sent"], result["recorded"], result["duplicate"], result["rejected"]) == (122, 60, 60, 2)
    assert exact(result["accounts"]) == totals(day())
    assert printed.err.count("line 61: rejected: ") == 2
    assert (result["unread"], result["verified"]) == (0, True)

    assert main(["verify", str(out)]) == 0
    assert "proven" in capsys.readouterr().out
    sealed = next(out.rglob("lines.csv.gz"))
    sealed.write_bytes(sealed.read_bytes()[:-1])
    assert main(["verify", str(out), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["proven"] is False


TEXT = b"".join(lines([event(1), event(2)]))
RUBBISH = {
    "UTF-16": (TEXT.decode().encode("utf-16"), 0),
    "zeros": (bytes(10_000), 0),
    "bytes": (bytes(range(256)) * 10, 0),
    "half a line at the end": (TEXT + TEXT[:50], 2),
}


@pytest.mark.parametrize(("content", "recorded"), RUBBISH.values(), ids=RUBBISH)
def test_input_that_was_not_read_whole_is_no_success(
    content: bytes, recorded: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "events.ndjson"
    file.write_bytes(content)
    assert main(["replay", str(file), "--json"]) == 1
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert (result["sent"], result["recorded"], result["rejected"]) == (recorded, recorded, 0)
    assert result["unread"] == printed.err.count("unread: is not JSON") > 0
    assert result["verified"] is False


PACKED = gzip.compress(TEXT * 200, mtime=0)
BROKEN = {
    "cut off": PACKED[:-100],
    "damaged": PACKED[:-100] + bytes(100),
    "not packed": TEXT,
    "no event in a bomb": gzip.compress(TEXT + bytes(65 << 20), 1),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_could_be_read_of_a_broken_file_is_recorded_and_the_rest_is_a_failure(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "events.ndjson.gz"
    file.write_bytes(content)
    assert main(["replay", str(file), "--json"]) == 1
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert result["recorded"] + result["duplicate"] == result["sent"]
    assert result["unread"] == printed.err.count("unread: ") > 0
    assert "cannot be read, nor can what follows: " in printed.err
    assert result["verified"] is False


def test_the_command_fails_if_lines_were_never_delivered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "events.ndjson"
    file.write_bytes(TEXT)
    items = [{"source": "shop", "id": str(number), "verdict": "unavailable"} for number in (1, 2)]
    answer = {"items": items, "first_period": None}  # to every request
    monkeypatch.setattr(Stack, "request", lambda *_: Response(202, {}, json.dumps(answer).encode()))
    assert main(["replay", str(file), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["sent"], result["unavailable"], result["unread"], result["verified"]) == (2, 2, 0, False)
    assert main(["replay", str(file)]) == 1
    assert "NOT verified: 2 lines could not be delivered" in capsys.readouterr().out


def test_the_table_tells_of_lines_that_could_not_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "events.ndjson"
    file.write_bytes(RUBBISH["half a line at the end"][0])
    assert main(["replay", str(file)]) == 1
    shown = capsys.readouterr()
    assert "line 3: unread: is not JSON" in shown.err
    assert "2 sent: 2 recorded" in shown.out
    assert "NOT verified: 1 line could not be read" in shown.out


def test_the_table_shows_the_accounts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "events.ndjson"
    file.write_bytes(b"".join(lines([event(n, agency=f"agency {n}") for n in range(45)])))
    assert main(["replay", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "45 sent: 45 recorded, 0 duplicate" in shown
    assert "agency 0" in shown
    assert "... and 5 more accounts" in shown
    assert "verified" in shown
