"""Documents, the pure part: keys, drafts and permissions."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.clock import iso_exact
from quarterhour.model.errors import ConflictError, ForbiddenError, InvalidError
from quarterhour.registry.documents.keys import (
    MAX_VERSION,
    RATE_CARD,
    document_name,
    document_of,
    latest_key,
    rate_card_name,
    version_key,
    version_number,
    version_of,
)
from quarterhour.registry.documents.permissions import Permissions, check_writer, may_read, permissions_values
from quarterhour.registry.documents.plan import new_version, read_draft, repeated
from quarterhour.registry.documents.timeline import Start, start_at, timeline_of, timeline_values, with_start
from quarterhour.registry.rate_cards.rate_card import RATE_CARDS
from quarterhour.registry.routes import KINDS
from quarterhour.web.access import STAFF, Caller, Role
from tests.support.builders import AT, names, one_of_staff, person
from tests.support.cases import cases
from tests.support.names import near
from tests.unit.registry.rate_cards.builders import content

versions = st.integers(1, MAX_VERSION)


@given(names, versions, versions)
def test_versions_sort_by_number_after_the_latest_and_are_read_back_from_their_keys(
    document: str, one: int, other: int
) -> None:
    first, second = (version_key(document, number)["sk"] for number in (one, other))
    assert (first < second) == (one < other)
    assert latest_key(document)["sk"] < first
    assert version_key(document, 1)["sk"] <= first <= version_key(document, MAX_VERSION)["sk"]
    assert version_of(first) == one == version_number(str(one))


@given(names)
def test_a_document_is_read_back_from_its_key(agency: str) -> None:
    document = document_name(rate_card_name(agency))
    assert document_of(latest_key(document)["pk"]) == document


@pytest.mark.parametrize("sk", ["v_0", "v_00000000", "v_1", "v_100000000", "v_0000001x", "metadata"])
def test_a_sort_key_outside_the_history_is_refused(sk: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        version_of(sk)
    with pytest.raises(ValueError, match=r".+"):
        document_of("DOCUMENTS#rate-card")


def body(seen: int, sent: Any) -> dict[str, Any]:
    return {"seen": Decimal(seen), "content": sent}


def test_a_new_version_replaces_the_latest_and_joins_the_history() -> None:
    latest, history, metadata = new_version(
        read_draft("a", body(0, {"b": Decimal("1.0")}), [RATE_CARDS]), None, "shop", AT
    )
    assert (latest["sk"], history["sk"], metadata["sk"]) == ("v_0", "v_00000001", "metadata")
    assert {**latest, "sk": ""} == {**history, "sk": ""}
    assert latest["content"] == '{"b":1.0}'
    assert (metadata["gsi1pk"], metadata["gsi1sk"]) == ("DOCUMENTS#document", "a")
    assert len(new_version(read_draft("a", body(1, "c"), [RATE_CARDS]), latest, "shop", AT)) == 2


@pytest.mark.parametrize("name", ["*", "", " 42", "42 ", "group/", "group/ eu", "group/eu ", "x" * 201])
def test_a_rate_card_whose_name_can_match_nothing_is_refused_with_what_would_be_right(name: str) -> None:
    with pytest.raises(InvalidError) as raised:
        read_draft(f"rate-card:{name}", body(0, content()), [RATE_CARDS])
    (problem,) = raised.value.problems
    assert problem.field == "document"
    assert "rate-card:<agency>, rate-card:group/<group> or rate-card:default" in problem.expected


@pytest.mark.parametrize("name", ["42", "default", "group/eu", "group/a/b", "groups", "Default", "x" * 200])
def test_a_rate_card_may_be_of_an_agency_of_a_group_or_of_all(name: str) -> None:
    assert read_draft(f"rate-card:{name}", body(0, content()), [RATE_CARDS]).kind == "rate-card"


@pytest.mark.parametrize("name", [" rules", "rules ", " "])
def test_a_document_without_a_schema_is_refused_with_a_blank_at_either_end_of_its_name(name: str) -> None:
    with pytest.raises(InvalidError) as raised:
        read_draft(name, body(0, "x"), [RATE_CARDS])
    assert [one.field for one in raised.value.problems] == ["document"]
    with pytest.raises(ValueError, match=re.escape(name)):
        document_name(name)


def test_the_timeline_keeps_the_label_of_each_version() -> None:
    timeline = with_start(with_start((), Start(1, AT)), Start(2, AT + timedelta(days=1), "eu"))
    assert timeline_of({"timeline": timeline_values(timeline)}) == timeline
    assert timeline_values(timeline)[0] == [1, iso_exact(AT)], "as an earlier version wrote it"
    assert [start_at(timeline, AT + timedelta(days=day)) for day in (-1, 0, 1)] == [None, *timeline]


def test_only_the_latest_version_of_a_rate_card_holds_the_timeline() -> None:
    first, *_ = new_version(read_draft("rate-card:42", body(0, content()), [RATE_CARDS]), None, "shop", AT)
    later = content(valid_from="2026-11-01T00:00:00Z")
    latest, history = new_version(read_draft("rate-card:42", body(1, later), [RATE_CARDS]), first, "shop", AT)
    assert latest["timeline"] == [[1, "2026-10-01T00:00:00Z"], [2, "2026-11-01T00:00:00Z"]]
    assert "timeline" not in history
    assert (history["valid_from"], history["version"]) == ("2026-11-01T00:00:00Z", 2)


def test_a_draft_is_a_retry_only_of_an_existing_version_with_the_same_content() -> None:
    _, existing, _ = new_version(read_draft("a", body(0, {"x": 1, "y": 2}), [RATE_CARDS]), None, "shop", AT)
    assert repeated(read_draft("a", body(0, {"y": 2, "x": 1}), [RATE_CARDS]), existing, 5) is existing
    for other in (
        read_draft("a", body(0, {"x": 1}), [RATE_CARDS]),
        read_draft("a", body(0, {"x": 1, "y": Decimal("2.0")}), [RATE_CARDS]),
    ):
        with pytest.raises(ConflictError, match="its latest version is 5, not 0"):
            repeated(other, existing, 5)
    with pytest.raises(ConflictError):
        repeated(read_draft("a", body(7, "z"), [RATE_CARDS]), None, 5)


@given(st.sets(names, max_size=3), st.sets(names, max_size=3), names, names)
def test_people_may_read_what_names_them_or_their_agency_and_the_marketplace_everything(
    agencies: set[str], people: set[str], name: str, agency: str
) -> None:
    permissions = Permissions(tuple(agencies), tuple(people))
    assert may_read(permissions, person(agency, name=name)) == (name in people or agency in agencies)
    assert may_read(permissions, Caller(name, None))
    assert all(may_read(Permissions.of(None), one_of_staff(role)) for role in STAFF)
    assert Permissions.of(permissions_values("a", permissions, "shop", AT)) == permissions
    assert not may_read(Permissions.of(None), person(agency, name=name))


@cases("name", near("Café 42"))
def test_similar_names_may_not_read_what_is_permitted_to_another(name: str) -> None:
    permissions = Permissions(("Café 42",), ("Café 42",))
    assert may_read(permissions, person("Café 42", name="bob"))
    assert may_read(permissions, person("7", name="Café 42"))
    assert not may_read(permissions, person(name, name=name))


SIMILAR = ["rate-card", "rate-cards:42", "rate-card/42", *(f"{prefix}42" for prefix in near(RATE_CARD))]


@cases("document", [one for one in SIMILAR if not one.startswith(RATE_CARD)])
def test_people_write_no_document_whose_name_is_similar_to_that_of_a_rate_card(document: str) -> None:
    finance = one_of_staff(Role.FINANCE)
    check_writer("rate-card:42", finance, KINDS)
    check_writer(document, Caller("shop", None), KINDS)
    with pytest.raises(ForbiddenError):
        check_writer(document, finance, KINDS)
