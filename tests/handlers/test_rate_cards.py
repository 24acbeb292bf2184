"""Rate cards: commissions fixed by the rate card in force when an event is recorded, and explained."""

from datetime import timedelta
from decimal import Decimal
from typing import Any, NoReturn
from urllib.parse import quote

import pytest

from quarterhour.ledger.reading.explanation import commission_steps
from quarterhour.model.errors import UnavailableError
from quarterhour.registry.rate_cards.store import RateCardStore
from quarterhour.reports.lines import read_lines
from quarterhour_tools.emulator.faults import FaultKind, Killed
from tests.handlers.desk import send
from tests.support.events import Cloud, by_sign, refund, sale
from tests.support.requests import post, receipt, verdicts
from tests.support.system import START, World, faulty
from tests.support.tables import items, ledger, stream
from tests.unit.registry.rate_cards.builders import content

BOOKS = {
    "category": "books",
    "currency": "GBP",
    "charges": [{"name": "commission", "percent": "8", "fixed": "0.30", "minimum": "2", "maximum": "9"}],
}


def keep(world: World, seen: int, *rules: dict[str, Any], agency: str = "42", since: str = "2026-10-01") -> None:
    """Write a version of an agency's rate card."""
    sent = {"seen": seen, "content": content(*rules, valid_from=f"{since}T00:00:00Z")}
    response = send(world, "PUT", f"/documents/rate-card:{agency}", sent)
    assert response.status in {200, 201}, response.body


def at(event: Cloud, time: str) -> Cloud:
    """Return an event with a time."""
    return {**event, "time": f"{time}T12:00:00Z"}


def explained(world: World, id_: str) -> dict[str, Any]:
    """Return the explanation of an event's commission."""
    explanation: dict[str, Any] = world.read(f"/events/shop/{quote(quote(id_, safe=''), safe='')}/explain")
    return explanation


def paid(world: World) -> dict[str, tuple[str, str]]:
    """Return the commission of each event in the ledger, and the origin of its terms."""
    return {item["id"]: (item["commission"], item["terms"]) for item in ledger(world)}


def register(world: World, agency: str, seen: int = 0, **data: Any) -> None:
    """Write a version of an agency's registration."""
    response = send(world, "PUT", f"/agencies/{agency}", {"seen": seen, "content": data})
    assert response.status in {200, 201}, response.body


# ---------------------------------------------------------------- unregistered agencies


def test_events_that_need_a_rate_card_are_flagged_if_their_agency_is_not_registered(world: World) -> None:
    register(world, "42", valid_from="2026-12-01T00:00:00Z")
    sent = [sale("a"), sale("own", commission_rate="0.2"), by_sign("loose", "-1"), refund("r", "-5", of="b")]
    posted = [sale("b"), *sent]
    assert verdicts(post(world, [*posted, *({**one, "source": "other", "subject": "7"} for one in posted)])) == [
        *["recorded"] * 10
    ]
    flagged = {(item["source"], item["id"]) for item in ledger(world) if "unregistered" in item}
    assert flagged == {("other", id_) for id_ in ("a", "b", "loose")}
    register(world, "7")
    assert set(verdicts(post(world, {**sale("a"), "source": "other", "subject": "7"}))) == {"duplicate"}
    assert ("other", "a") in {(item["source"], item["id"]) for item in ledger(world) if "unregistered" in item}


# ---------------------------------------------------------------- fixed when the event is recorded


def test_a_sale_is_priced_by_its_agencys_rate_card_and_keeps_version_and_arithmetic(world: World) -> None:
    keep(world, 0, {"percent": "12.5"}, BOOKS)
    sent = [sale("tea"), sale("book", "100", category="books", quantity=2), sale("own", commission_rate="0.2")]
    assert verdicts(post(world, [*sent, {**sale("other"), "subject": "7"}])) == ["recorded"] * 4
    assert paid(world) == {
        "tea": ("1.56250", "card 1"),
        "book": ("8.60", "card 1"),
        "own": ("2.500", "event"),
        "other": ("1.2500", "default"),
    }
    (book,) = [item for item in ledger(world) if item["id"] == "book"]
    assert (book["category"], book["commission_rate"]) == ("books", "0.08")
    assert book["arithmetic"] == "percent=8 of=100 fixed=0.30 items=2 least=2 most=9"


def test_an_event_is_priced_by_the_rate_card_of_its_agency_its_group_or_all_agencies(world: World) -> None:
    keep(world, 0, {"percent": "11"}, agency="42")
    keep(world, 0, {"percent": "12", "category": "books"}, agency="group%252Feu")
    keep(world, 0, {"percent": "13", "location": "GB"}, agency="default")
    register(world, "42", group="eu")
    register(world, "7", group="eu")
    register(world, "8", group="none")
    sent = [
        {
            **sale(f"{agency}{category}{location}", category=category or "toys", location=location or "DE"),
            "subject": agency,
        }
        for agency in ("42", "7", "8", "9")
        for category, location in (("", ""), ("books", ""), ("", "GB"))
    ]
    assert verdicts(post(world, sent)) == ["recorded"] * 12
    assert {id_: terms for id_, (_, terms) in paid(world).items()} == {
        **dict.fromkeys(("42", "42books", "42GB"), "card 1"),
        "7": "default",
        "7books": "card 1 rate-card:group/eu",
        "7GB": "card 1 rate-card:default",
        "8": "default",
        "8books": "default",
        "8GB": "card 1 rate-card:default",
        "9": "default",
        "9books": "default",
        "9GB": "card 1 rate-card:default",
    }


def test_an_event_is_priced_by_the_rate_card_of_the_group_that_its_agency_was_in(world: World) -> None:
    for number, group in enumerate(("old", "new")):
        keep(world, 0, {"percent": f"{number + 1}"}, agency=f"group%252F{group}", since="2026-01-01")
        keep(world, 1, {"percent": f"{number + 11}"}, agency=f"group%252F{group}", since="2026-10-20")
        register(world, "42", number, group=group, valid_from=f"2026-0{number + 8}-01T00:00:00Z")
    days = ("2026-07-31", "2026-08-01", "2026-08-31", "2026-09-01", "2026-10-20")
    post(world, [sale("now"), *(at(sale(day, "100"), day) for day in days)])
    assert {id_: terms for id_, (_, terms) in paid(world).items()} == {
        "now": "card 2 rate-card:group/new",
        "2026-07-31": "default",
        "2026-08-01": "card 1 rate-card:group/old",
        "2026-08-31": "card 1 rate-card:group/old",
        "2026-09-01": "card 1 rate-card:group/new",
        "2026-10-20": "card 2 rate-card:group/new",
    }


def test_the_explanation_shows_the_rate_cards_as_they_were_when_the_event_was_recorded(world: World) -> None:
    register(world, "42", group="eu")
    keep(world, 0, {"percent": "12", "category": "books"}, agency="group%252Feu")
    keep(world, 0, {"percent": "13"}, agency="default")
    post(world, [sale("tea"), sale("book", category="books"), {**sale("other"), "subject": "9"}])
    world.pass_time(minutes=1)
    keep(world, 0, {"percent": "11"}, agency="42")
    register(world, "42", 1, group="uk")
    own = {"document": "rate-card:42", "result": "not in force"}
    of_group = {"document": "rate-card:group/eu", "version": 1}
    of_all = {"document": "rate-card:default", "version": 1, "result": "applied"}
    tea, book, other = (explained(world, id_)["terms"] for id_ in ("tea", "book", "other"))
    assert tea["looked_at"] == [own, {**of_group, "result": "no rule for this event"}, of_all]
    assert book["looked_at"] == [own, {**of_group, "result": "applied"}]
    assert (book["document"], book["version"], book["rule"]["percent"]) == ("rate-card:group/eu", 1, "12")
    assert other["looked_at"] == [{**own, "document": "rate-card:9"}, of_all]


def test_a_refund_gets_its_share_of_a_price_by_a_rate_card_of_all(world: World) -> None:
    keep(world, 0, BOOKS, agency="default")
    sent = [sale("b", "100", category="books"), refund("r", "-50", of="b")]
    assert verdicts(post(world, sent)) == ["recorded"] * 2
    assert paid(world)["b"] == ("8.30", "card 1 rate-card:default")
    assert paid(world)["r"][1] == "sale"
    assert world.report()["lines"] == 0
    assert explained(world, "r")["terms"] == {"from": "sale", "sale": "b"}


def test_a_new_version_prices_the_next_request(world: World) -> None:
    keep(world, 0, {"percent": "10"})
    post(world, sale("a"))
    keep(world, 1, {"percent": "20"})
    post(world, sale("b"))
    assert paid(world) == {"a": ("1.2500", "card 1"), "b": ("2.5000", "card 2")}


def test_an_event_is_priced_by_the_rate_card_in_force_at_its_own_time(world: World) -> None:
    keep(world, 0, {"percent": "10"}, since="2026-09-01")
    keep(world, 1, {"percent": "20"}, since="2026-10-01")
    keep(world, 2, {"percent": "30"}, since="2026-11-01")
    days = ("2026-08-31", "2026-09-30", "2026-10-01", "2026-11-02")
    post(world, [sale("now"), *(at(sale(day, "100"), day) for day in days)])
    assert {id_: terms for id_, (_, terms) in paid(world).items()} == {
        "now": "card 2",
        "2026-08-31": "default",
        "2026-09-30": "card 1",
        "2026-10-01": "card 2",
        "2026-11-02": "card 3",
    }


def test_a_rate_card_that_changes_between_an_event_and_its_retry_changes_nothing(world: World) -> None:
    keep(world, 0, {"percent": "10"}, BOOKS)
    sent = [sale("a"), sale("b", "100", category="books"), refund("r", "-5", of="b")]
    first = post(world, sent)
    before = ledger(world)
    keep(world, 1, {"percent": "20"})
    again = post(world, sent)
    assert verdicts(again) == ["duplicate"] * 3
    assert [receipt(again, index) for index in range(3)] == [receipt(first, index) for index in range(3)]
    assert ledger(world) == before
    assert len(stream(world, "LedgerTable")) == 2, "one of the sales, one of what corrects them"


@pytest.mark.parametrize("seconds", [0, 3600])
def test_a_claim_keeps_its_price_when_the_rate_card_changes_before_the_append(seconds: int) -> None:
    with faulty() as (world, faults):
        keep(world, 0, {"percent": "10"}, BOOKS)
        post(world, sale("before"))
        faults.arm(FaultKind.KILL_AFTER, after=1)
        with pytest.raises(Killed), faults.at_work():
            post(world, sale("a", "100", category="books"))
        world.stack.cold_start("ingest")
        keep(world, 1, {"percent": "20"})
        world.clock.advance(timedelta(seconds=seconds))
        assert verdicts(post(world, sale("a", "100", category="books"))) == ["duplicate"]
        assert paid(world)["a"] == ("8.30", "card 1")


def test_an_event_that_a_new_rate_card_cannot_price_is_still_a_duplicate(world: World) -> None:
    keep(world, 0, {"percent": "0"})
    huge = sale("a", "1" * 38)
    assert verdicts(post(world, huge)) == ["recorded"]
    keep(world, 1, {"percent": "10"})
    response = post(world, [huge, {**huge, "id": "b"}, sale("c")])
    assert verdicts(response) == ["duplicate", "rejected", "recorded"]
    assert response.json()["items"][1]["errors"][0]["field"] == "data.amount"


def test_only_events_that_need_a_rate_card_are_unavailable_while_rate_cards_cannot_be_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_reach(*_: object) -> NoReturn:
        raise UnavailableError("the table did not answer in time")

    with monkeypatch.context() as patch:
        patch.setattr(RateCardStore, "read", out_of_reach)
        response = post(world, [sale("a"), sale("b", commission_rate="0.1"), refund("r", "-1", of="b")])
        assert (response.status, verdicts(response)) == (207, ["unavailable", "recorded", "recorded"])
    world.stack.cold_start("ingest")
    assert verdicts(post(world, [sale("a"), sale("b", commission_rate="0.1")])) == ["recorded", "duplicate"]


def test_refunds_get_their_shares_of_the_commission_and_never_more_than_all_of_it(world: World) -> None:
    keep(world, 0, {"currency": "GBP", "charges": [{"name": "commission", "percent": "7", "fixed": "0.30"}]})
    post(world, sale("s", "10.00"))
    keep(world, 1, {"percent": "50"})
    post(world, [refund("r1", "-3.33", of="s"), refund("r2", "-3.33", of="s"), refund("r3", "-3.34", of="s")])
    commissions = {id_: Decimal(commission) for id_, (commission, _) in paid(world).items()}
    assert commissions["s"] == Decimal("1.00")
    assert commissions["r1"] == Decimal("-0.333")
    assert sum(commissions.values()) == 0
    assert {terms for id_, (_, terms) in paid(world).items() if id_ != "s"} == {"sale"}


# ---------------------------------------------------------------- explanations from stored facts


def test_every_commission_of_a_report_is_computed_from_its_line_and_explained(world: World) -> None:
    keep(
        world,
        0,
        {"percent": "12.5"},
        BOOKS,
        {"location": "GB", "currency": "GBP", "charges": [{"name": "commission", "percent": "11", "minimum": "3"}]},
    )
    post(
        world,
        [
            *(sale(f"s{n}", f"{n * 7}.{n:02d}", category="books", quantity=n) for n in range(1, 6)),
            *(sale(f"p{n}", f"{n}.50", location="GB#London") for n in range(1, 6)),
            sale("own", commission_rate="0.0725"),
            sale("adjusted", "0", "adjustment.recorded", commission="-1.25", refers_to="s1"),
            sale("lost", "-4.00", "sale.refunded", category="books"),
            *(refund(f"r{n}", f"-{n}.01", of=f"s{n}") for n in range(1, 6)),
        ],
    )
    world.pass_time(minutes=20)
    world.report()
    bucket = world.stack.bucket
    sealed = [key for key in bucket.keys() if key.endswith("lines.csv.gz")]  # noqa: SIM118 - it is no dict
    lines = [line for key in sealed for line in read_lines(bucket.open(key))]
    assert len(lines) == 18
    for line in lines:
        *_, (_, last) = commission_steps(line)
        assert f"{last.gives:f}" == line["commission"]
        explanation = explained(world, line["id"])
        assert explanation["steps"][-1]["gives"] == explanation["commission"] == line["commission"]
    assert {line["id"]: line["terms"] for line in lines}["lost"] == "card 1"


def test_an_explanation_names_the_rate_card_the_rule_and_each_step(world: World) -> None:
    keep(world, 0, {"percent": "12.5"}, BOOKS)
    post(world, at(sale("inv/1: 50%", "100", category="books", quantity=4), "2026-10-20"))
    keep(world, 1, {"percent": "1"})
    explanation = explained(world, "inv/1: 50%")
    assert explanation["terms"] == {
        "from": "card",
        "document": "rate-card:42",
        "version": 1,
        "looked_at": [{"document": "rate-card:42", "version": 1, "result": "applied"}],
        "valid_from": "2026-10-01T00:00:00Z",
        "rule": BOOKS,
    }
    assert [(step["name"], step["gives"]) for step in explanation["steps"]] == [
        ("percent", "8.00"),
        ("fixed", "1.20"),
        ("sum", "9.20"),
        ("minimum", "9.20"),
        ("maximum", "9"),
    ]
    assert (explanation["time"], explanation["recorded_at"]) == ("2026-10-20T12:00:00Z", "2026-10-23T01:30:00.000Z")
    assert START.day == 23


def test_an_event_that_is_not_recorded_has_no_explanation(world: World) -> None:
    post(world, sale("a"))
    for path in ("/events/shop/b/explain", "/events/other/a/explain"):
        assert world.missing(path)


def test_an_adjustment_that_names_its_commission_changes_only_the_commission(world: World) -> None:
    post(world, [sale("s", "100", commission_rate="0.1"), sale("a", "0", "adjustment.recorded", commission="-2.5")])
    world.drain()
    totals = world.read("/accounts/42/GBP")
    assert (totals["gross"], totals["refunds"], totals["commission"], totals["events"]) == ("100", "0", "7.5", 2)
    response = post(world, sale("b", "0", "adjustment.recorded", commission="1", commission_rate="0.1"))
    assert response.json()["items"][0]["errors"][0]["field"] == "data.commission"
    assert post(world, sale("c", "1", commission="1")).json()["items"][0]["errors"][0]["field"] == "data.commission"
    assert "b" not in {item["event"].removeprefix("shop#") for item in items(world, "IdentityTable")}
