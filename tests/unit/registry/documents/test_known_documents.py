"""Documents as they were known at an instant: what is written later changes nothing that is read."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from quarterhour.aws.entity import Key, Range, Values
from quarterhour.model.clock import iso_exact
from quarterhour.registry.documents.keys import latest_key, version_key
from quarterhour.registry.documents.queries import KnownDocuments
from quarterhour.registry.documents.timeline import Start, timeline_values, with_start

NAME = "agency:42"


def day(number: int) -> datetime:
    return datetime(2026, 10, number, tzinfo=UTC)


class Entities:
    """The items of documents in memory. ``reads``: the names of the calls."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Values] = {}
        self.reads: list[str] = []

    def write(self, *versions: tuple[datetime, datetime], name: str = NAME) -> None:
        """Write versions of a document, each with the instants of writing and of becoming valid."""
        timeline: tuple[Start, ...] = ()
        for number, (written_at, valid_from) in enumerate(versions, 1):
            timeline = with_start(timeline, Start(number, valid_from))
            values = {
                "version": number,
                "content": f'{{"group":"{number}"}}',
                "written_at": iso_exact(written_at),
                "valid_from": iso_exact(valid_from),
            }
            for key, more in (
                (latest_key(name), {"timeline": timeline_values(timeline)}),
                (version_key(name, number), {}),
            ):
                self.items[key["pk"], key["sk"]] = {**key, **values, **more}

    def get(self, key: Key) -> Values | None:
        self.reads.append("get")
        return self.items.get((key["pk"], key["sk"]))

    def get_many(self, keys: Sequence[Key]) -> list[Values]:
        self.reads.append("get_many")
        return [values for key in keys if (values := self.items.get((key["pk"], key["sk"])))]

    def read(self, span: Range, _page: int) -> Iterator[Values]:
        self.reads.append("read")
        keys = sorted(key for key in self.items if key[0] == span.pk and span.low <= key[1] <= span.high)
        return (self.items[key] for key in keys)


@pytest.fixture
def entities() -> Entities:
    return Entities()


def group(entities: Entities, at: int, known: int) -> str | None:
    """Return the group of the agency in force on a day, as known on another."""
    found: Any = KnownDocuments(cast("Any", entities), day(known)).document(NAME).content(day(at))
    return found["group"] if found else None


@pytest.mark.parametrize(
    ("at", "known", "expected", "reads"),
    [
        (4, 9, None, ["get"]),
        (5, 9, "1", ["get", "get"]),
        (6, 9, "3", ["get"]),
        (7, 4, "2", ["get", "read"]),
        (6, 4, "1", ["get", "read"]),
        (9, 1, "1", ["get", "read"]),
        (4, 1, None, ["get", "read"]),
    ],
)
def test_the_version_in_force_is_the_one_of_the_versions_that_were_known(
    entities: Entities, at: int, known: int, expected: str | None, reads: list[str]
) -> None:
    # The second version would begin on the 7th, but the third, written on the 5th, replaces it from the 6th on.
    entities.write((day(1), day(5)), (day(3), day(7)), (day(5), day(6)))
    assert group(entities, at, known) == expected
    assert entities.reads == reads


@pytest.mark.parametrize(
    ("at", "newest", "expected"), [(6, 3, "3"), (7, 2, "2"), (6, 2, "1"), (9, 1, "1"), (9, 0, None)]
)
def test_the_versions_that_count_are_those_up_to_a_number(
    entities: Entities, at: int, newest: int, expected: str | None
) -> None:
    """All were written at the same instant, which does not tell them apart."""
    entities.write((day(1), day(5)), (day(1), day(7)), (day(1), day(6)))
    found = KnownDocuments(cast("Any", entities), newest).document(NAME)
    assert found.version == newest
    assert found.content(day(at)) == ({"group": expected} if expected else None)


def test_a_document_that_was_not_known_yet_or_does_not_exist_has_no_content(entities: Entities) -> None:
    assert group(entities, 9, 9) is None
    entities.write((day(5), day(1)))
    assert group(entities, 9, 4) is None


def test_the_latest_versions_of_several_documents_are_read_together(entities: Entities) -> None:
    entities.write((day(1), day(1)))
    entities.write((day(1), day(1)), (day(2), day(2)), name="agency:43")
    known = KnownDocuments(cast("Any", entities), day(9))
    found = known.documents([NAME, "agency:43", "agency:44"])
    assert {name: one.content(day(9)) for name, one in found.items()} == {
        NAME: {"group": "1"},
        "agency:43": {"group": "2"},
        "agency:44": None,
    }
    assert entities.reads == ["get_many"]
