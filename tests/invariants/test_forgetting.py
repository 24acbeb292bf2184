"""Recording new customers, and forgetting, may die at any AWS call; each customer counts once, as their token."""

from typing import Any

import pytest

from quarterhour_tools.emulator.engines import EMBEDDED
from tests.invariants.crashing import Crashes, Numbers
from tests.invariants.trial import Trial, on_trial
from tests.support.events import Cloud, refund, sale, view

pytestmark = pytest.mark.slow


def batch(n: int) -> list[Cloud]:
    """Return a request with sales to a new customer and a known one, a view, a refund, and a refund that is held."""
    return [
        sale(f"s{n}", "10.00", customer=f"new {n}"),
        sale(f"t{n}", "2.00", customer="bob"),
        view(f"v{n}", "/index", f"viewer {n}"),
        refund(f"r{n}", "-4", of=f"s{n}", customer=f"new {n}"),
        refund(f"h{n}", "-1", of=f"later{n}", customer=f"held {n}"),
    ]


def stored_customers(place: Trial) -> dict[str, str]:
    """Return the customer of each event in the ledger by its id."""
    return {facts["id"]: facts["customer"] for facts in place.ledger() if "customer" in facts}


def test_an_ingest_of_new_customers_may_die_at_any_call(number: Numbers, crashes: Crashes) -> None:
    def prepare(place: Trial) -> None:
        place.stack.cold_start("ingest")

    def act(place: Trial) -> None:
        place.send(batch(number()))

    with on_trial(EMBEDDED) as place:
        act(place)
        crashes.at_each_call("ingest of new customers", place, prepare, act, Trial.send_again)
        stored = stored_customers(place)
        assert len({one for id_, one in stored.items() if id_.startswith("t")}) == 1, "bob has one token"
        for n in range(1, number.last + 1):
            assert stored[f"s{n}"] == stored[f"r{n}"] != stored[f"t{n}"]


def test_forgetting_may_die_at_any_call_and_a_retry_of_the_forgotten_ones_events_is_a_duplicate(
    number: Numbers, crashes: Crashes
) -> None:
    def forget(place: Trial) -> Any:
        return place.invoke(
            "repair", {"action": "forget", "customer": f"new {number.last}", "by": "ann", "reason": "asked"}
        )

    def prepare(place: Trial) -> None:
        place.send([sale(f"s{number()}", "10.00", customer=f"new {number.last}")])
        place.stack.cold_start("repair")

    def recover(place: Trial) -> None:
        forget(place)
        assert forget(place)["token"] is None, "nothing is left to forget"
        # A function may remember a token for a minute.
        place.pass_time(minutes=2)
        known = stored_customers(place)
        event = sale(f"s{number.last}", "10.00", customer=f"new {number.last}")
        assert place.send([event]) == ["duplicate"]
        assert stored_customers(place) == known

    with on_trial(EMBEDDED) as place:
        crashes.at_each_call("forgetting", place, prepare, forget, recover, loses_responses=True)
