"""Re-ratings: a sale is charged by another rate card, and later refunds and voids give back parts of that."""

import json
from typing import Any

import pytest

from quarterhour.ledger.rerating import queries as rerating_queries
from quarterhour.reports.lines import read_lines
from quarterhour_tools.emulator.http_api import Request
from tests.handlers.test_rate_cards import explained, keep
from tests.support.events import Cloud, adjustment, refund, rerating, sale, void
from tests.support.requests import post, verdicts
from tests.support.system import World
from tests.support.tables import ledger

RERATING = {"rate_card": "rate-card:42", "version": 2, "by": "ann"}


@pytest.fixture
def rated(world: World) -> World:
    """A system with two versions of a rate card, of 10 and of 20 percent, and a sale of 100 by the first one."""
    keep(world, 0, {"percent": "10"})
    assert verdicts(post(world, sale(amount="100"))) == ["recorded"]
    keep(world, 1, {"percent": "20"})
    return world


def refusal(world: World, sent: Cloud) -> tuple[str, str]:
    """Return field and problem of an event that is rejected for one reason."""
    (item,) = post(world, sent).json()["items"]
    assert item["verdict"] == "rejected", item
    (problem,) = item["errors"]
    return problem["field"], problem["problem"]


def charged(world: World) -> dict[str, str]:
    """Return the commission of each event in the ledger."""
    return {item["id"]: item["commission"] for item in ledger(world)}


def test_a_rerated_sale_gives_back_what_it_was_charged_in_the_end(rated: World) -> None:
    for sent in (refund("r1", "-25"), rerating(version=2), refund("r2", "-25"), void()):
        assert verdicts(post(rated, sent)) == ["recorded"]
    assert charged(rated) == {"order-1": "10.00", "r1": "-2.50", "rr1": "7.50", "r2": "-5.00", "v1": "-10.00"}
    assert verdicts(post(rated, rerating(version=2))) == ["duplicate"]
    rated.drain()
    account = rated.read("/accounts/42/GBP")
    assert (account["events"], float(account["commission"])) == (5, 0)


PREVIEW = {"agency": "42", "rate_card": "rate-card:42", "from": "2026-10-01", "to": "2026-11-01", "reason": "contract"}


def test_a_preview_shows_what_another_version_would_charge_and_its_events_record_that(rated: World) -> None:
    assert verdicts(post(rated, [sale("other", "50", agency="43"), refund("r1", "-25")])) == ["recorded"] * 2
    found = rated.read("/rerating", **PREVIEW)
    assert (found["rate_card"], found["version"]) == ("rate-card:42", 2)
    (account,) = found["accounts"]
    sums = [
        account[name] for name in ("agency", "currency", "events", "changed", "commission", "would_be", "difference")
    ]
    assert sums == ["42", "GBP", 1, 1, "7.50", "15.00", "7.50"], "the sale less its refund; nothing of agency 43"
    (change,) = found["changes"]
    assert (change["id"], change["difference"]) == ("order-1", "7.50")
    assert charged(rated).keys() == {"order-1", "other", "r1"}, "the preview records nothing"
    assert verdicts(post(rated, change["events"])) == ["recorded"]
    assert rated.read("/rerating", **PREVIEW)["changes"] == []
    assert rated.read("/rerating", **PREVIEW, version=1)["accounts"][0]["difference"] == "-7.50"


def test_a_preview_leaves_the_fee_of_an_order_with_a_line_that_was_recorded_before_it_begins(world: World) -> None:
    once = {"name": "commission", "fixed": "1", "fixed_per": "order"}
    keep(world, 0, {"currency": "GBP", "charges": [{**once, "percent": "10"}]})
    assert verdicts(post(world, sale("a", "100", order_id="A"))) == ["recorded"]
    world.pass_time(minutes=60)
    assert verdicts(post(world, [sale(id_, "100", order_id=id_[1]) for id_ in ("bA", "cB")])) == ["recorded"] * 2
    keep(world, 1, {"currency": "GBP", "charges": [{**once, "percent": "20"}]})
    later = PREVIEW | {"from": world.read("/events/shop/bA")["recorded_at"]}
    assert explained(world, "bA")["order_fees"] == {"commission": "a"}
    found = world.read("/rerating", **later)
    assert [(one["id"], float(one["would_be"])) for one in found["changes"]] == [("bA", 20), ("cB", 21)]
    rules = [{"currency": "GBP", "charges": [{**once, "percent": "20"}]}]
    (account,) = effect(world, *rules, **{"from": later["from"]}).json()["accounts"]
    assert float(account["would_be"]) == 41
    events = [event for one in found["changes"] for event in one["events"]]
    assert verdicts(post(world, events)) == ["recorded"] * 2
    assert world.read("/rerating", **later)["changes"] == []


def test_a_preview_of_too_many_events_or_of_anothers_rate_card_is_refused(
    rated: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerating_queries, "MAX_CHANGES", 1)
    assert verdicts(post(rated, sale("order-2", "100"))) == ["recorded"]
    keep(rated, 2, {"percent": "30"})
    response = rated.get("/rerating", **PREVIEW)
    assert (response.status, response.json()["errors"][0]["field"]) == (413, "from")
    assert response.json()["detail"] == (
        "the span changes 2 events: a preview takes at most 1 of them, in a shorter span; "
        "quarterhour rerate has no such limit"
    )
    assert rated.refused("/rerating", **PREVIEW | {"agency": "43"})["field"] == "rate_card"


def test_a_rerating_has_the_tax_point_of_its_sale(rated: World) -> None:
    before = {"time": "2026-10-21T12:00:00Z"}
    assert verdicts(post(rated, sale("early", "100") | before)) == ["recorded"]
    assert verdicts(post(rated, rerating("rr", "early", version=1))) == ["recorded"]
    points = {id_: rated.read(f"/events/shop/{id_}")["tax_point"] for id_ in ("order-1", "early", "rr")}
    assert points == {"order-1": "2026-10-23", "early": "2026-10-21", "rr": "2026-10-21"}


def test_a_sale_its_rerating_and_its_refund_may_come_in_one_request_in_any_order(rated: World) -> None:
    sent = [refund("r", "-50", of="b"), rerating("rr", "b", version=1), sale("b", "100"), void("v", "b")]
    assert verdicts(post(rated, sent)) == ["recorded"] * 4
    assert charged(rated) | {"order-1": ""} == {"order-1": "", "b": "20.00", "r": "-10.00", "rr": "-5.00", "v": "-5.00"}


def test_story_and_explanation_show_rate_card_version_reason_operator_and_the_commission_in_force(rated: World) -> None:
    for sent in (rerating(version=2), refund("r", "-25")):
        rated.pass_time(minutes=1)
        post(rated, sent)
    story = rated.read("/events/shop/order-1/story")
    assert [(one["id"], one["commission_after"]) for one in story["items"]] == [
        ("order-1", "10.00"),
        ("rr1", "20.00"),
        ("r", "15.00"),
    ]
    step = story["items"][1]
    assert (step["rerating"], step["reason"], step["commission"]) == (RERATING, "new contract", "10.00")
    recorded = explained(rated, "rr1")
    assert recorded["terms"] == {
        "from": "rerating",
        "document": "rate-card:42",
        "version": 2,
        "by": "ann",
        "reason": "new contract",
        "sale": "order-1",
    }
    assert [one["gives"] for one in recorded["steps"]] == ["20.00", "10.00", "10.00"]
    of_sale = explained(rated, "order-1")
    assert (of_sale["commission"], of_sale["in_force"]["commission"]) == ("10.00", "20.00")
    assert of_sale["in_force"]["terms"]["version"] == 2
    assert of_sale["in_force"]["terms"]["rule"] == {"percent": "20"}


def test_the_sealed_line_of_a_rerating_names_all_of_it(rated: World) -> None:
    post(rated, rerating(version=2))
    rated.pass_time(minutes=20)
    rated.report()
    bucket = rated.stack.bucket
    (key,) = [key for key in sorted(bucket.keys()) if "lines" in key]
    lines = list(read_lines(bucket.open(key)))
    (line,) = [line for line in lines if line["id"] == "rr1"]
    assert line["rerating"] == '{"by":"ann","rate_card":"rate-card:42","version":2}'
    assert (line["reason"], line["terms"], line["arithmetic"]) == ("new contract", "rerating", "due=20.00 paid=10.00")


def test_a_rerating_is_held_until_its_sale_is_recorded(rated: World) -> None:
    assert verdicts(post(rated, rerating("rr", "later", version=1))) == ["held"]
    (held,) = rated.read("/held")["items"]
    assert held["event"]["rerating"] == {**RERATING, "version": 1}
    assert verdicts(post(rated, sale("later", "100"))) == ["recorded"]
    rated.stack.invoke("watch", {})
    assert charged(rated)["rr"] == "-10.00"


def test_a_rerating_of_an_unknown_sale_cannot_be_released(rated: World) -> None:
    post(rated, rerating("rr", "never"))
    release = {"action": "release", "source": "shop", "id": "rr", "by": "ann", "reason": "a test"}
    with pytest.raises(Exception, match="says nothing without its unknown sale: discard it"):
        rated.stack.invoke("repair", release)


@pytest.mark.parametrize(
    ("sent", "field", "problem"),
    [
        (rerating(version=1), "data.rerating", "changes nothing: the commission of what is left is 10.00 already"),
        (rerating(version=3), "data.rerating.version", "is no version of rate-card:42"),
        (
            rerating(rate_card="rate-card:7"),
            "data.rerating.rate_card",
            "is 'rate-card:7', the rate card of another agency",
        ),
        (rerating(rate_card="rate-card:group/eu"), "data.rerating.version", "is no version of rate-card:group/eu"),
        (rerating(rate_card="agency:42"), "data.rerating.rate_card", "is 'agency:42'"),
        (rerating(of="named"), "data.refers_to", "is sale.recorded with the terms 'event'"),
        (rerating(of="r"), "data.refers_to", "is sale.refunded with the terms 'sale'"),
        (rerating(of="v"), "data.refers_to", "is sale.voided with the terms 'sale'"),
        (rerating(of="rr"), "data.refers_to", "is adjustment.recorded with the terms 'rerating'"),
        (
            rerating(of="voided", version=2),
            "data.rerating",
            "changes nothing: the commission of what is left is 0.00 already",
        ),
        (
            rerating(version=2, agency="7", rate_card="rate-card:default"),
            "data.refers_to",
            "is a sale of another account",
        ),
        (rerating(version=2, currency="EUR"), "data.refers_to", "is a sale of another account"),
        (rerating("self", "self"), "data.refers_to", "is the event itself"),
        (rerating(version=0), "data.rerating.version", "is 0"),
        (rerating(version="2"), "data.rerating.version", "is '2'"),
        (rerating(amount="0"), "data.amount", "is given, though a re-rating posts the difference"),
        (rerating(commission="1"), "data.commission", "is given, though a re-rating posts the difference"),
        (rerating(kind="opening"), "data.kind", "is not known"),
        (rerating(reason=" "), "data.reason", "is ' '"),
        (rerating(of=None), "data.refers_to", "is missing"),
        (rerating(rerating="rate-card:42"), "data.rerating", "is 'rate-card:42'"),
        (rerating(rerating={**RERATING, "by": None}), "data.rerating.by", "is missing"),
        (rerating(rerating={**RERATING, "rate": 1}), "data.rerating.rate", "is not known"),
        (sale("s", "1", rerating=RERATING), "data.rerating", "is not known"),
        (void("v", "order-1", rerating=RERATING), "data.rerating", "is not known"),
    ],
)
def test_a_rerating_that_is_malformed_or_not_allowed_is_rejected_with_the_reason(
    rated: World, sent: Cloud, field: str, problem: str
) -> None:
    prepared = [
        sale("named", "100", commission_rate="0.1"),
        *(sale(id_, "100") for id_ in ("other", "voided")),
        refund("r", "-1", of="other"),
        rerating("rr", "other", version=1),
        void("v", "voided"),
    ]
    assert verdicts(post(rated, prepared)) == ["recorded"] * 6
    before = len(ledger(rated))
    assert refusal(rated, {**sent, "id": f"bad-{sent['id']}" if sent["id"] != "self" else "self"}) == (field, problem)
    assert len(ledger(rated)) == before


def test_an_adjustment_that_is_no_rerating_leaves_the_terms_in_force(rated: World) -> None:
    post(rated, [rerating(version=2), adjustment("a", "-3", "order-1"), void()])
    assert charged(rated)["v1"] == "-20.00"


def test_a_refund_may_name_the_commission_rate_in_force_alone(rated: World) -> None:
    post(rated, rerating(version=2))
    assert refusal(rated, refund("r", "-1", commission_rate="0.1"))[1] == "is 0.1, the sale's was 0.20"
    assert verdicts(post(rated, refund("r", "-1", commission_rate="0.2"))) == ["recorded"]


def test_a_sale_without_rules_in_the_rate_card_or_before_it_is_not_rerated(rated: World) -> None:
    keep(rated, 2, {"percent": "5", "category": "books"})
    keep(rated, 3, {"percent": "5"}, since="2026-11-01")
    for version in (3, 4):
        assert refusal(rated, rerating(version=version)) == ("data.rerating", "does not price the event")


def test_every_change_of_the_rate_card_is_a_rerating_of_its_own(rated: World) -> None:
    keep(
        rated,
        2,
        {"currency": "GBP", "charges": [{"name": "commission", "percent": "10", "fixed": "7", "maximum": "16"}]},
    )
    sent: list[Any] = [rerating(f"rr{number}", version=version) for number, version in enumerate((2, 3, 2, 1))]
    assert verdicts(post(rated, sent)) == ["recorded"] * 4
    assert charged(rated) == {"order-1": "10.00", "rr0": "10.00", "rr1": "-4.00", "rr2": "4.00", "rr3": "-10.00"}


EFFECT = {"rate_card": "rate-card:42", "agency": "42", "from": "2026-10-01T00:00:00Z", "to": "2026-11-01T00:00:00Z"}
TIERS = {"per": "month", "of": "account", "mode": "graduated", "steps": [{"from": "0", "percent": "20"}]}


def effect(world: World, *rules: Any, **changed: Any) -> Any:
    """Return the answer about a rate card of these rules that is not written."""
    content = {"valid_from": "2026-10-01T00:00:00Z", "rules": list(rules)}
    headers = (("content-type", "application/json"), ("host", "localhost"))
    body = json.dumps({**EFFECT, "content": content, **changed}).encode()
    return world.stack.request(Request("POST", "/rerating", headers=headers, body=body))


def test_the_effect_of_a_rate_card_is_shown_before_it_is_written(rated: World) -> None:
    assert verdicts(post(rated, refund("r1", "-25"))) == ["recorded"]
    (account,) = effect(rated, {"percent": "30"}).json()["accounts"]
    assert (account["events"], account["commission"], account["would_be"]) == (1, "7.50", "22.50")
    steps = [*TIERS["steps"], {"from": "50", "percent": "10"}]
    tiered = {"charges": [{"name": "commission", "tiers": {**TIERS, "steps": steps}}]}
    (account,) = effect(rated, tiered).json()["accounts"]
    assert (account["changed"], float(account["would_be"]), float(account["difference"])) == (1, 12.5, 5)
    assert effect(rated, {"percent": "30", "category": "books"}).json()["accounts"] == [], "no rule for these events"
    assert rated.read("/documents/rate-card:42")["version"] == 2, "nothing is written"


def test_a_dry_run_of_a_version_with_tiers_shows_what_they_charge(rated: World) -> None:
    keep(rated, 2, {"charges": [{"name": "commission", "tiers": TIERS}]})
    (account,) = rated.read("/rerating", **PREVIEW)["accounts"]
    assert (float(account["commission"]), float(account["would_be"])) == (10, 20)


def test_what_an_earlier_rate_card_prices_is_not_affected_by_a_later_one(rated: World) -> None:
    assert effect(rated, {"percent": "30"}, rate_card="rate-card:default").json()["accounts"] == []
    assert verdicts(post(rated, sale("other", "50", agency="43"))) == ["recorded"]
    found = effect(rated, {"percent": "30"}, rate_card="rate-card:default", agency="43").json()["accounts"]
    assert [one["would_be"] for one in found] == ["15.00"]


@pytest.mark.parametrize(
    ("rules", "changed", "field"),
    [
        ([{"percent": "101"}], {}, "content.rules[0].percent"),
        ([], {}, "content.rules"),
        ([{"percent": "5"}], {"agency": "43"}, "rate_card"),
        ([{"percent": "5"}], {"rate_card": "terms"}, "rate_card"),
        ([{"percent": "5"}], {"to": "2026-09-01T00:00:00Z"}, "to"),
        ([{"percent": "5"}], {"more": 1}, "more"),
        (
            [{"charges": [{"name": "a", "tiers": {**TIERS, "steps": [{"from": "5", "percent": "1"}]}}]}],
            {},
            "content.rules",
        ),
    ],
)
def test_an_effect_of_what_could_not_be_written_is_refused(
    rated: World, rules: list[Any], changed: dict[str, Any], field: str
) -> None:
    response = effect(rated, *rules, **changed)
    assert response.status in {400, 422}
    assert response.json()["errors"][0]["field"].startswith(field)
