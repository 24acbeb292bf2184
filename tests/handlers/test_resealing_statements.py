"""Rewriting the lost files of a period's drafts, as the operator's `quarterhour reseal` does."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterhour.model.errors import NotFoundError, SealedFileError
from quarterhour_tools.emulator.http_api import Request
from tests.support.system import World, opened

START = datetime(2026, 11, 30, 23, 0, tzinfo=UTC)
JSON = (("content-type", "application/json"),)
PERIOD = "statements/2026-11"
DRAFT = f"{PERIOD}/42/GBP"
FILES = [f"{DRAFT}/{name}" for name in ("draft.json", "lines.csv.gz")]
OF_PERIOD = [f"{PERIOD}/{name}" for name in ("drafts.csv", "manifest.json")]


@pytest.fixture
def sealed(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The system after the drafts of two accounts, which are in two groups and not released."""
    monkeypatch.setattr("quarterhour.statements.plan.LINES_OF_A_GROUP", 1)
    with opened({"grace_days": 0}, start=START) as world:
        world.sell("10.00")
        world.sell("2.50", agency="Café / 7", currency="EUR")
        world.pass_time(minutes=30)
        world.report()
        seal_through(world, datetime(2026, 12, 1, tzinfo=UTC))
        assert world.stack.invoke("statements", {})["periods"] == ["2026-11"]
        yield world


def seal_through(world: World, instant: datetime) -> None:
    """Let everything before an instant be sealed."""
    world.drain()
    world.clock.advance_to(instant.replace(hour=1))
    world.report()


def objects(world: World, prefix: str = "statements/") -> dict[str, bytes]:
    keys = (key for key in world.stack.bucket.keys() if key.startswith(prefix))  # noqa: SIM118 - no dict
    return {key: world.stack.bucket.open(key).read() for key in keys}


def lose(world: World, *keys: str) -> None:
    for key in keys:
        world.stack.engine.s3().delete_object(Bucket=world.stack.ref("ReportBucket"), Key=key)


def put(world: World, key: str, content: bytes) -> None:
    world.stack.engine.s3().put_object(Bucket=world.stack.ref("ReportBucket"), Key=key, Body=content)


def reseal(world: World, seconds: float = 900, **event: Any) -> dict[str, Any]:
    answer: dict[str, Any] = world.stack.invoke("statements", {"reseal": "2026-11", **event}, seconds=seconds)
    return answer


@pytest.mark.slow
@pytest.mark.parametrize("expired", [False, True])
def test_lost_files_are_rewritten_with_the_same_bytes(sealed: World, *, expired: bool) -> None:
    before = objects(sealed)
    for lost in (*([key] for key in (*FILES, *OF_PERIOD)), [*FILES, *OF_PERIOD], list(before)):
        lose(sealed, *lost, *(objects(sealed, "work/") if expired else ()))
        answer = reseal(sealed)
        assert (answer["files"], sorted(answer["written"]), answer["next"]) == (6, sorted(lost), None)
        assert objects(sealed) == before


@pytest.mark.slow
def test_it_continues_where_the_time_ran_short(sealed: World) -> None:
    before = objects(sealed)
    lose(sealed, *before, *objects(sealed, "work/"))
    answer, written = reseal(sealed, seconds=1), []
    while answer["next"] is not None:
        written += answer["written"]
        answer = reseal(sealed, seconds=1, **{"from": answer["next"]})
    assert sorted(written + answer["written"]) == sorted(before)
    assert objects(sealed) == before


def test_nothing_is_written_if_no_file_is_lost(sealed: World) -> None:
    before = objects(sealed, "")
    assert reseal(sealed) == {"files": 6, "written": [], "next": None}
    assert objects(sealed, "") == before


@pytest.mark.slow
def test_the_plan_of_the_period_is_used_after_later_periods_and_documents(sealed: World) -> None:
    before = objects(sealed)
    seal_through(sealed, datetime(2027, 1, 1, tzinfo=UTC))
    assert sealed.stack.invoke("statements", {})["periods"] == ["2026-12"]
    owner = {"seen": 0, "content": {"legal_name": "Riverside Market Ltd"}}
    request = Request("PUT", "/documents/owner", headers=JSON, body=json.dumps(owner).encode())
    assert sealed.stack.request(request).status == 201
    lose(sealed, *before, *objects(sealed, "work/"))
    assert sorted(reseal(sealed)["written"]) == sorted(key for key in before)
    assert {key: content for key, content in objects(sealed).items() if key in before} == before


def test_a_file_with_other_bytes_is_an_error_and_left_as_it_is(sealed: World) -> None:
    before = objects(sealed)
    for key in (*FILES, *OF_PERIOD):
        put(sealed, key, b"forged")
        with pytest.raises(SealedFileError, match=key):
            reseal(sealed)
        assert objects(sealed) == {**before, key: b"forged"}
        put(sealed, key, before[key])


def test_no_file_is_written_if_the_sealed_lines_give_other_bytes(
    sealed: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(sealed, *FILES)
    monkeypatch.setattr("quarterhour.statements.drafts.write.orders_of", lambda _: [])
    with pytest.raises(SealedFileError, match="restore its version"):
        reseal(sealed)
    assert not objects(sealed, DRAFT)


def test_a_period_that_is_not_sealed_is_named(sealed: World) -> None:
    with pytest.raises(NotFoundError, match="2026-12 is not sealed"):
        sealed.stack.invoke("statements", {"reseal": "2026-12"})
