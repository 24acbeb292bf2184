"""Rewriting lost files of released documents and of releases, as the operator's `quarterhour reseal` does."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterhour.model.errors import SealedFileError
from tests.handlers.desk import send
from tests.handlers.test_statement_runs import LONDON, Marketplace
from tests.support.agencies import tax
from tests.support.cases import cases
from tests.support.events import sale
from tests.support.system import opened

OWNER = {"legal_name": "Market Ltd", "address": "1 Quay", "country": "GB", "vat_id": "GB980780684"}
OCTOBER = "statements/2026-10"
MADE = ("statement.html", "statement.json", "statement.xml")
DOCUMENTS = [
    *(f"{OCTOBER}/42/GBP/{revision}{name}" for revision in ("2/", "3/", "") for name in MADE),
    *(f"{OCTOBER}/7/GBP/{name}" for name in MADE),
]
NOVEMBER = [f"statements/2026-11/42/GBP/{name}" for name in MADE]
RELEASES = [f"statements/releases/00000{n}/{name}" for n in (1, 2, 3) for name in ("manifest.json", "statements.csv")]
FOURTH = ["statements/releases/000004/manifest.json", "statements/releases/000004/statements.csv"]


@pytest.fixture(scope="module")
def shop() -> Iterator[Marketplace]:
    """October of two agencies, one of which was cancelled and released again in the release of its November."""
    with opened(LONDON, start=datetime(2026, 10, 31, 22, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", OWNER)
        shop.write("/agencies/42", tax(percent="20", by_kind={"adjustment": {"scheme": "exempt"}}))
        shop.write("/agencies/7", tax(percent="20"))
        rated = {"commission_rate": "0.125"}
        shop.record(sale("s1", "100.00", **rated), sale("s2", "50", agency="7", **rated))
        shop.until(datetime(2026, 11, 2, 0, 20, tzinfo=UTC))
        assert shop.seal()["documents"] == 2
        shop.record(sale("s3", "10.00", **rated))
        decide(shop, "cancel", 2)
        assert shop.seal()["documents"] == 1
        decide(shop, "release", 4)
        shop.until(datetime(2026, 12, 2, 0, 20, tzinfo=UTC))
        assert shop.seal()["documents"] == 2
        world.pass_time(minutes=1)
        # What is written later does not change what was sealed.
        shop.write("/agencies/42", {**tax(percent="5"), "legal_name": "Other Ltd"}, seen=1)
        yield shop


def decide(shop: Marketplace, decision: str, seen: int) -> None:
    body = {"decision": decision, "seen": seen, "reason": "wrong name"}
    assert send(shop.world, "PUT", "/drafts/42/GBP/2026-10", body).status == 200


def reseal(shop: Marketplace, period: str = "2026-10", seconds: float = 900, **event: Any) -> dict[str, Any]:
    answer: dict[str, Any] = shop.world.stack.invoke("statements", {"reseal": period, **event}, seconds=seconds)
    return answer


def lose(shop: Marketplace, *keys: str) -> None:
    for key in (*keys, *shop.files("work/")):
        shop.lose(key)


LOST = [[DOCUMENTS[3]], [RELEASES[2]], [*DOCUMENTS, *RELEASES]]
"""A document, a release, and all; the slow test loses each file alone."""


@pytest.mark.slow
@cases("lost", [*([key] for key in (*DOCUMENTS, *RELEASES)), DOCUMENTS, RELEASES], ids=lambda lost: lost[0])
def test_each_lost_file_is_rewritten_with_the_same_bytes(shop: Marketplace, lost: list[str]) -> None:
    check_lost(shop, lost)


@cases("lost", LOST, ids=lambda lost: lost[0] if len(lost) == 1 else str(len(lost)))
def test_lost_files_are_rewritten_with_the_same_bytes(shop: Marketplace, lost: list[str]) -> None:
    check_lost(shop, lost)


def check_lost(shop: Marketplace, lost: list[str]) -> None:
    before = shop.files()
    lose(shop, *lost)
    answer = reseal(shop)
    assert (sorted(answer["written"]), answer["next"], answer["files"]) == (sorted(lost), None, 6 + 12 + 6)
    assert shop.files() == before


def test_a_document_after_a_lost_one_of_another_period_is_rewritten(shop: Marketplace) -> None:
    before = shop.files()
    lose(shop, *DOCUMENTS, *NOVEMBER)
    assert sorted(reseal(shop, "2026-11")["written"]) == sorted(NOVEMBER)
    assert sorted(reseal(shop)["written"]) == sorted(DOCUMENTS)
    assert shop.files() == before


def test_it_continues_where_the_time_ran_short(shop: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quarterhour.statements.releases.reseal.STATEMENTS_OF_A_PART", 1)
    before = shop.files()
    lost = [key for key in before if not key.startswith("statements/2026-11/")]
    lose(shop, *lost)
    answer, written, invocations = reseal(shop, seconds=1), [], 1
    while answer["next"] is not None:
        written += answer["written"]
        answer = reseal(shop, seconds=1, **{"from": answer["next"]})
        invocations += 1
    assert sorted(written + answer["written"]) == sorted(lost)
    assert (shop.files(), invocations) == (before, 35 + 1 + 2 + 1)  # days, groups, statements, releases


@pytest.mark.parametrize("key", [DOCUMENTS[0], DOCUMENTS[-1], *RELEASES[:2]])
def test_a_file_with_other_bytes_is_an_error_and_left_as_it_is(shop: Marketplace, key: str) -> None:
    content = shop.read(key)
    bucket = shop.world.stack.ref("ReportBucket")
    put = shop.world.stack.engine.s3().put_object
    put(Bucket=bucket, Key=key, Body=b"forged")
    with pytest.raises(SealedFileError, match=key):
        reseal(shop)
    assert shop.read(key) == b"forged"
    put(Bucket=bucket, Key=key, Body=content)


def test_no_file_is_written_if_the_draft_gives_other_bytes(shop: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    before = shop.files()
    lost = DOCUMENTS[-3:]
    lose(shop, *lost)
    with monkeypatch.context() as changed:
        changed.setattr("quarterhour.statements.document.files.statement_page", lambda _: b"<!doctype html>")
        with pytest.raises(SealedFileError, match="restore its version"):
            reseal(shop)
    assert not set(lost) & set(shop.files())
    reseal(shop)
    assert shop.files() == before


def test_the_numbers_after_a_release_are_those_of_its_documents(shop: Marketplace) -> None:
    lose(shop, RELEASES[-2])
    reseal(shop)
    assert json.loads(shop.read(RELEASES[-2]))["numbers"] == {
        "C-": {"first": 2, "next": 2}, "S-": {"first": 3, "next": 5},
    }  # fmt: skip
