"""The generated day: repeatable, labelled rightly, and rich in what clients do."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

import pytest

from quarterhour.ledger.events.event import Event, read_event
from quarterhour.model import exact_json
from quarterhour_tools.demo.marketplace import (
    AGENCIES,
    MINOR_DIGITS,
    MISTAKES,
    DayLine,
    expected_accounts,
    marketplace_day,
)


def verdicts(day: list[DayLine]) -> list[tuple[str, set[str]]]:
    """Judge each line by the design's words: verdict, and fields blamed."""
    known: dict[tuple[str, str], Event] = {}
    left: dict[tuple[str, str], Decimal] = {}
    result = []
    for line in day:
        event = read_event(exact_json.parse(str(line)))
        if not isinstance(event, Event):
            result.append(("rejected", {problem.field for problem in event.problems}))
            continue
        key = event.identity.source, event.identity.id
        sale = event.identity.source, event.details.get("refers_to", event.identity.id)
        if key in known:
            same = known[key].digest == event.digest
            result.append(("duplicate", set()) if same else ("conflict", {"id"}))
        elif event.type == "sale.refunded" and sale not in left:
            result.append(("held", {"data.refers_to"}))
        elif event.type == "sale.refunded" and left[sale] + event.amount < 0:
            result.append(("rejected", {"data.amount"}))
        else:
            known[key] = event
            left[sale] = left.get(sale, Decimal(0)) + event.amount
            result.append(("recorded", set()))
    return result


@pytest.mark.parametrize("seed", range(5))
def test_every_line_gets_the_verdict_on_its_label(seed: int) -> None:
    day = marketplace_day(seed)
    for line, (verdict, blamed) in zip(day, verdicts(day), strict=True):
        assert (verdict, line.blamed in blamed if line.blamed else True) == (line.verdict, True), line


def test_the_day_sent_again_gets_the_verdicts_of_lines_sent_again() -> None:
    day = marketplace_day()
    again = [line.again(line.kind, timedelta()) for line in day]
    assert [verdict for verdict, _ in verdicts(day + day)[len(day) :]] == [line.verdict for line in again]


def test_a_seed_makes_the_same_day_and_another_one_another() -> None:
    assert [str(line) for line in marketplace_day(7)] == [str(line) for line in marketplace_day(7)]
    assert [str(line) for line in marketplace_day(7)] != [str(line) for line in marketplace_day(8)]


def test_the_day_has_all_that_clients_do() -> None:
    day = marketplace_day()
    assert 800 < len(day) < 1_200
    kinds = Counter((line.kind, line.verdict) for line in day)
    assert {verdict for _, verdict in kinds} == {"recorded", "duplicate", "conflict", "rejected", "held"}
    assert min(kinds[kind, "recorded"] for kind in ("late sale", "refund", "adjustment", "bad item, corrected")) > 5
    assert {"refund beyond its sale", "refund of no sale"} <= {kind for kind, _ in kinds}
    ids = {(line.body["source"], line.body["id"]) for line in day if line.verdict == "recorded"}
    assert len({id_ for _, id_ in ids}) < len(ids)  # the same id in two shops


def test_every_mistake_is_made() -> None:
    blamed = {line.blamed for line in marketplace_day(orders=1_000) if line.kind == "bad item"}
    assert blamed == {field for field, _, _ in MISTAKES}


def test_times_come_out_of_order() -> None:
    times = [event.time for line in marketplace_day() if isinstance(event := read_event(line.body), Event)]
    assert any(after < before for before, after in pairwise(times) if before and after)


def test_every_account_has_events_and_exact_sums() -> None:
    accounts = expected_accounts(marketplace_day())
    assert set(accounts) == {f"{agency.id}#{currency}" for agency in AGENCIES for currency in agency.currencies}
    for account, sums in accounts.items():
        assert sums.refunds < 0 < sums.gross
        assert -sums.gross.as_tuple().exponent == MINOR_DIGITS[account.rpartition("#")[2]]  # type: ignore[operator] # finite
