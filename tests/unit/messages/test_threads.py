"""Messages: the schema of a body, and keys."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.messages.keys import MessageKey, SubjectKind, Thread, bounds_by_time, bounds_by_user, claim_hash
from quarterhour.messages.message import MAX_TEXT, period, read_message
from quarterhour.model.errors import ForbiddenError, InvalidError
from quarterhour.web.access import Caller
from tests.support.builders import person
from tests.support.cases import cases
from tests.support.names import near

THREAD = Thread(SubjectKind.ORDERS, "1001")
MACHINE = Caller("arn:aws:iam::123456789012:user/shop", None)
PERSON = person("42")
GOOD = {"id": "m-1", "user": "ann", "text": "Where is it?\n\tStill waiting."}

names = st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="#"), min_size=1, max_size=30)


@given(names, st.datetimes(), names)
def test_a_message_key_is_read_back_from_its_sort_key(user: str, at: Any, claim: str) -> None:
    key = MessageKey.of(user, f"{at:%Y-%m-%dT%H:%M:%S}.000Z", claim)
    assert MessageKey.parse(key.by_user) == key


@given(names, names)
def test_all_messages_of_a_user_are_in_one_partition_of_a_thread(subject: str, user: str) -> None:
    thread = Thread(SubjectKind.REPORTS, subject)
    assert thread.partition(user) in thread.partitions


@given(names, names)
def test_the_bounds_hold_the_users_messages_and_no_others(user: str, other: str) -> None:
    at = "2026-10-23T01:30:12.345Z"
    low, high = bounds_by_user(user, "2026-10")
    assert (low <= MessageKey(other, at, "4JzHX4k3").by_user <= high) == (other == user)
    low, high = bounds_by_time("2026-10-23")
    assert low <= MessageKey(other, at, "4JzHX4k3").by_time <= high


def test_the_same_id_of_another_user_or_thread_is_another_message() -> None:
    threads = (THREAD, Thread(SubjectKind.REPORTS, "1001"), Thread(SubjectKind.ORDERS, "1002"))
    hashes = {claim_hash(thread, user, id_) for thread in threads for user in ("ann", "bob") for id_ in ("1", "2")}
    assert len(hashes) == 12


def test_a_machine_names_the_user_and_a_person_writes_as_the_tokens_subject() -> None:
    assert read_message(THREAD, GOOD, MACHINE).user == "ann"
    assert read_message(THREAD, {"id": "m-1", "text": "x"}, PERSON).user == "ann"
    assert read_message(THREAD, GOOD, PERSON).user == "ann"
    with pytest.raises(ForbiddenError, match="not the subject"):
        read_message(THREAD, {**GOOD, "user": "bob"}, PERSON)


@cases("user", near("ann"))
def test_a_person_cannot_write_under_a_similar_name(user: str) -> None:
    with pytest.raises((ForbiddenError, InvalidError)):
        read_message(THREAD, {**GOOD, "user": user}, PERSON)


@cases("user", near("ann"))
def test_messages_of_similar_names_are_different_messages(user: str) -> None:
    assert claim_hash(THREAD, user, "m-1") != claim_hash(THREAD, "ann", "m-1")
    low, high = bounds_by_user("ann", "")
    assert not low <= MessageKey(user, "2026-10-23T01:30:12.345Z", "4JzHX4k3").by_user <= high


@cases(
    ("change", "field"),
    [
        ({"id": None}, "id"),
        ({"id": ""}, "id"),
        ({"id": "a#b"}, "id"),
        ({"id": " m-1"}, "id"),
        ({"id": "m-1 "}, "id"),
        ({"user": "ann "}, "user"),
        ({"id": 7}, "id"),
        ({"user": None}, "user"),
        ({"user": "a\nb"}, "user"),
        ({"text": None}, "text"),
        ({"text": ""}, "text"),
        ({"text": " \n "}, "text"),
        ({"text": "x" * (MAX_TEXT + 1)}, "text"),
        ({"text": "\x07\u200b"}, "text"),
        ({"text": ["a"]}, "text"),
        ({"more": 1}, "more"),
    ],
)
def test_an_invalid_body_is_refused_by_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidError) as refused:
        read_message(THREAD, {**GOOD, **change}, MACHINE)
    (problem,) = refused.value.problems
    assert problem.field.strip("'") == field
    assert problem.expected


@pytest.mark.parametrize("text", ["2026", "2026-10", "2026-10-23", "2026-10-23T01", "2026-10-23T01:30:12"])
def test_a_period_is_the_beginning_of_an_instant(text: str) -> None:
    assert period(text) == text


@cases(
    "text",
    [
        *("", "26", "2026-", "2026-1", "2026-10-23T", "2026-10-23 01", "~", "2026\n", "#", "٢٠٢٦"),
        *("0000", "2026-13", "2026-00", "2026-02-30", "2026-10-23T25", "2026-10-23T01:60", "2026-10-23T01:30:61"),
    ],
)
def test_any_other_text_is_no_period(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        period(text)
