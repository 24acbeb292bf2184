"""Rate cards, settings and the owner that one person writes wait for a second person, where two must agree."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.handlers.desk import send
from tests.handlers.test_approvals import TWO, two_deciding
from tests.handlers.test_releases import as_person
from tests.support.agencies import OWNER
from tests.support.system import World, opened
from tests.support.tables import items
from tests.unit.registry.rate_cards.builders import content

DEAL = "rate-card:42"
CHANGED = content({"percent": "80"})


@pytest.fixture
def two() -> Iterator[World]:
    """A system on which two people must agree, with a rate card that a machine wrote."""
    with opened(TWO) as world:
        assert send(world, "PUT", f"/documents/{DEAL}", {"seen": 0, "content": content()}).status == 201
        yield world


def write(
    world: World, sent: object = CHANGED, sub: str = "ann", *, seen: int = 1, document: str = DEAL
) -> tuple[int, dict[str, Any]]:
    """Write a version as a person of finance; return the status and the body of the response."""
    body = {"seen": seen, "content": sent}
    status, found = as_person(world, "PUT /documents/{document}", f"/documents/{document}", body, sub, role="finance")
    return status, found


def decide(
    world: World, sub: str, decision: str = "release", *, reason: str = "checked", document: str = DEAL, **changed: str
) -> tuple[int, dict[str, Any]]:
    """Decide about what is proposed as a person of finance; return the status and the body of the response."""
    body = {"decision": decision, "sha256": proposal(world, document)["sha256"], "reason": reason, **changed}
    path = f"/documents/{document}/proposal"
    status, found = as_person(world, "PUT /documents/{document}/{part}", path, body, sub, role="finance")
    return status, found


def proposal(world: World, document: str = DEAL) -> dict[str, Any]:
    return dict(world.read(f"/documents/{document}/proposal"))


def latest(world: World, document: str = DEAL) -> dict[str, Any]:
    return dict(world.read(f"/documents/{document}"))


def waiting(world: World) -> list[str]:
    return [one["document"] for one in world.read("/documents", kind="proposal")["items"]]


def test_a_rate_card_of_a_person_waits_for_a_second_one_and_both_names_stay(two: World) -> None:
    status, proposed = write(two)
    assert (status, proposed["seen"], proposed["proposed_by"], waiting(two)) == (202, 1, "ann", [DEAL])
    assert latest(two)["version"] == 1
    assert proposal(two) == {**proposed, "content": CHANGED}
    assert write(two) == (202, proposed), "a retry"
    status, found = decide(two, "bob")
    assert (status, found["decided"]["by"], found["decided"]["decision"]) == (200, "bob", "release")
    written = latest(two)
    assert (written["version"], written["content"]) == (2, CHANGED)
    assert (written["written_by"], written["approved_by"], written["sha256"]) == ("ann", "bob", proposed["sha256"])
    assert two.read(f"/documents/{DEAL}/versions/2") == written
    assert waiting(two) == []
    two.pass_time(minutes=1)
    assert decide(two, "bob") == (200, found), "a retry"
    assert write(two)[0] == 200, "a retry of the first person"


@pytest.mark.parametrize("approvals", [1, 2])
@pytest.mark.parametrize(
    ("document", "sent"), [("settings", {"approvals": 1}), ("owner", OWNER), ("rate-card:default", content())]
)
def test_people_write_settings_and_the_owner_too_and_nobody_lowers_the_approvals_alone(
    two: World, document: str, sent: dict[str, Any], approvals: int
) -> None:
    two.change_settings(approvals=approvals)
    seen = two.get(f"/documents/{document}").json().get("version", 0)
    before = two.read("/me")
    status, found = write(two, sent, seen=seen, document=document)
    if approvals == 1:
        assert (status, found["version"], "approved_by" in found) == (201, seen + 1, False)
        return
    assert (status, waiting(two), two.read("/me")) == (202, [document], before)
    assert decide(two, "ann", document=document)[0] == 409
    assert decide(two, "bob", document=document)[0] == 200
    assert latest(two, document)["version"] == seen + 1


def test_people_write_no_other_document(two: World) -> None:
    for document in ("house rules", "agency:42", "reconciliation:2026-10:stripe", "settings:x", "rate-cards:42"):
        status, found = write(two, {}, seen=0, document=document)
        assert (status, "people write documents of the kinds owner, rate-card, settings" in found["detail"]) == (
            403,
            True,
        )


def test_nobody_releases_what_they_have_proposed_by_any_request(two: World) -> None:
    write(two)
    before = items(two, "EntityTable")
    status, found = decide(two, "ann")
    assert (status, "ask another person of finance" in found["detail"]) == (409, True)
    assert write(two, sub="bob")[1]["proposed_by"] == "ann", "the same of another person is no release"
    answer = send(two, "PUT", f"/documents/{DEAL}", {"seen": 1, "content": CHANGED})
    assert (answer.status, answer.json()["proposed_by"]) == (202, "ann"), "nor is the same of a machine"
    assert items(two, "EntityTable") == before
    for role in ("support", "auditor", "agency"):
        claims = {"agency": "42"} if role == "agency" else {}
        body = {"decision": "release", "sha256": proposal(two)["sha256"], "reason": "checked"}
        route, path = "PUT /documents/{document}/{part}", f"/documents/{DEAL}/proposal"
        assert as_person(two, route, path, body, "eve", role=role, **claims)[0] == 403
    assert latest(two)["version"] == 1


def test_another_content_is_proposed_once_the_first_is_discarded_and_that_is_final(two: World) -> None:
    write(two)
    status, found = write(two, content({"percent": "9"}), "bob")
    assert (status, found["detail"]) == (409, f"{DEAL} has a proposal of ann: release or discard it first")
    status, found = decide(two, "bob", "discard", reason="a slip")
    assert (status, found["decided"]["by"], waiting(two), latest(two)["version"]) == (200, "bob", [], 1)
    assert decide(two, "bob", "discard", reason="a slip") == (200, found), "a retry"
    assert decide(two, "bob")[1]["detail"] == f"the proposal for '{DEAL}' was discarded before, by bob"
    assert decide(two, "eve", "discard", reason="a slip")[0] == 409
    assert write(two, content({"percent": "9"}), "bob")[0] == 202
    assert decide(two, "ann", sha256="0" * 64)[0] == 409, "another one than was seen"
    assert decide(two, "ann")[0] == 200
    assert latest(two)["content"]["rules"] == [{"percent": "9"}]


def test_what_is_released_cannot_be_discarded(two: World) -> None:
    write(two)
    assert decide(two, "bob")[0] == 200
    for sub in ("ann", "bob", "eve"):
        status, found = decide(two, sub, "discard")
        assert (status, found["detail"]) == (409, f"the proposal for '{DEAL}' was released before, by bob")
    assert latest(two)["content"] == CHANGED


def test_a_proposal_on_top_of_a_version_that_is_not_the_latest_can_only_be_discarded(two: World) -> None:
    write(two)
    other = content({"percent": "11"})
    assert send(two, "PUT", f"/documents/{DEAL}", {"seen": 1, "content": other}).status == 201
    status, found = decide(two, "bob")
    assert (status, found["detail"]) == (409, f"'{DEAL}' has changed since: its latest version is 2")
    assert write(two)[0] == 409
    assert latest(two)["content"] == other
    assert write(two, seen=2)[0] == 202, "it takes the place of the old one"
    assert decide(two, "bob")[0] == 200
    assert (latest(two)["version"], waiting(two)) == (3, [])


def test_what_could_not_be_written_cannot_be_proposed(two: World) -> None:
    assert write(two, {"rules": []})[0] == 400
    status, found = write(two, {"time_zone": "Asia/Tokyo"}, document="settings")
    assert (status, found["errors"][0]["field"]) == (400, "content.periods_from")
    assert waiting(two) == []
    assert two.get("/documents/settings/proposal").status == 404
    assert (
        send(two, "PUT", "/documents/owner/proposal", {"decision": "discard", "sha256": "0" * 64, "reason": "x"}).status
        == 404
    )


@pytest.mark.parametrize("other", ["release", "discard"])
def test_of_two_people_at_once_one_decides(other: str) -> None:
    with two_deciding() as (world, faults):
        assert write(world, seen=0)[0] == 202
        faults.meanwhile(1, lambda: decide(world, "amy", other))
        with faults.at_work():
            status, found = decide(world, "bob")
        assert (status, f"was {other}" in found["detail"], "by amy" in found["detail"]) == (409, True, True)
        if other == "release":
            written = latest(world)
            assert (written["version"], written["approved_by"]) == (1, "amy")
        else:
            assert world.get(f"/documents/{DEAL}").status == 404
