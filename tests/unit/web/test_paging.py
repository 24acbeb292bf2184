"""Pages and their tokens."""

import json
from base64 import urlsafe_b64encode
from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quarterhour.model import exact_json
from quarterhour.model.errors import InvalidError
from quarterhour.web.paging import MAX_LIMIT, Page, Paging, read_token, request_name, within, write_token

parts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)
places = st.lists(parts, min_size=1, max_size=3).map(tuple)
requests = st.text(max_size=20)
limits = st.integers(1, 20)


def shown(number: int) -> dict[str, int]:
    return {"number": number}


@given(places, requests)
def test_a_place_is_parsed_back_from_its_token(place: tuple[str, ...], request: str) -> None:
    token = write_token(place, request)
    assert read_token(token, request) == place
    assert token.replace("-", "").replace("_", "").isalnum()
    assert Paging.of(request, 7, token) == Paging(7, request, place)


@given(places, requests, requests)
def test_a_token_is_valid_only_for_its_own_request(place: tuple[str, ...], request: str, other: str) -> None:
    assume(request != other)
    with pytest.raises(InvalidError) as refused:
        read_token(write_token(place, request), other)
    (problem,) = refused.value.problems
    assert problem.field == "next"


@given(places, places, requests)
def test_a_checksum_is_valid_only_for_its_own_place(
    place: tuple[str, ...], other: tuple[str, ...], request: str
) -> None:
    assume(place != other)
    checksum = write_token(place, request)[:16]
    with pytest.raises(InvalidError):
        read_token(checksum + write_token(other, request)[16:], request)


@given(st.one_of(st.text(), st.binary().map(lambda content: urlsafe_b64encode(content).decode())), requests)
def test_any_other_text_is_refused_as_a_token(token: str, request: str) -> None:
    with pytest.raises(InvalidError):
        read_token(token, request)


@pytest.mark.parametrize("more", ["=", "==", "A", "-", "\n", " ", "é"])
def test_a_token_has_one_spelling(more: str) -> None:
    token = write_token(("x",), "request")
    for other in (token + more, more + token, token.replace("-", "+").replace("_", "/") + more):
        with pytest.raises(InvalidError):
            read_token(other, "request")


@given(st.text(), st.dictionaries(st.sampled_from(["from", "to", "limit", "next"]), st.text(max_size=5)))
def test_a_request_has_the_same_name_on_all_of_its_pages(path: str, parameters: dict[str, str]) -> None:
    name = request_name(path, parameters)
    assert name == request_name(path, {**parameters, "limit": "3", "next": "abc"})
    assert name != request_name(path, {**parameters, "agency": "42"})
    assert name != request_name(path + "/", parameters)


@given(st.lists(st.integers(), unique=True).map(sorted), limits)
def test_the_pages_together_are_the_whole(numbers: list[int], limit: int) -> None:
    found: list[int] = []
    paging = Paging(limit, "request")
    while True:
        last = paging.start(int, None)
        rest = numbers if last is None else numbers[numbers.index(last) + 1 :]
        page = paging.cut(rest, shown, str)
        assert len(page.items) <= limit
        found += [item["number"] for item in page.items]
        body = paging.body(page)
        assert body["items"] == page.items
        if body["next"] is None:
            assert page.after is None
            break
        assert len(page.items) == limit
        paging = Paging.of("request", limit, body["next"])
    assert found == numbers


def test_a_page_reads_one_item_more_than_it_shows() -> None:
    numbers = iter(range(10))
    assert Paging(3, "request").cut(numbers, shown, str).after == ("2",)
    assert next(numbers) == 4


@pytest.mark.parametrize("text", ["🎉" * 250_000, '"' * 250_000, "\ud800" * 125_000])
def test_a_page_ends_before_it_is_too_large_for_a_response(text: str) -> None:
    page = Paging(10, "request").cut(range(7), lambda number: {"number": number, "text": text}, str)
    assert 2 <= len(page.items) <= 4
    assert page.after == (str(len(page.items) - 1),)
    response = json.dumps({"body": exact_json.write(page.items)}, ensure_ascii=False).encode()
    assert len(response) < 6_000_000
    assert json.loads(json.loads(response)["body"]) == page.items


def test_an_item_that_is_too_large_alone_is_a_page_of_its_own() -> None:
    page = Paging(10, "request").cut([1, 2], lambda number: {str(number): "x" * 5_000_000}, str)
    assert (len(page.items), page.after) == (1, ("1",))


def test_a_place_out_of_bounds_is_refused() -> None:
    assert within(1, 1, 3) == 1
    assert within(date(2026, 1, 1), date(2026, 1, 3), date(2026, 1, 3)) == date(2026, 1, 3)
    paging = Paging(1, "request", ("4",))
    assert paging.start(lambda text: within(1, int(text), 4), 0) == 4
    for read in (lambda text: within(1, int(text), 3), lambda text: within(5, int(text), 9), lambda: 4):
        with pytest.raises(InvalidError):
            paging.start(read, 0)
    with pytest.raises(InvalidError):
        Paging(1, "request", ("4", "5")).start(int, 0)


def test_an_empty_page_may_have_a_next() -> None:
    empty: Page[dict[str, str]] = Page([], ("later", ""))
    assert read_token(str(Paging(1, "request").body(empty)["next"]), "request") == ("later", "")
    assert MAX_LIMIT == 1000
