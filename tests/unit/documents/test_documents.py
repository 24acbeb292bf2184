"""Documents, the pure part: keys, drafts and permissions."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.documents.keys import (
    MAX_VERSION,
    agency_of,
    document_name,
    latest_key,
    rate_card_name,
    version_key,
    version_number,
    version_of,
)
from quarterhour.documents.permissions import Permissions, may_read, permissions_values
from quarterhour.documents.plan import new_version, read_draft, repeated
from quarterhour.model.errors import ConflictError
from quarterhour.rate_cards.rate_card import RATE_CARDS
from quarterhour.web.access import Caller
from tests.support.builders import AT, names
from tests.unit.rate_cards.builders import content

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
def test_an_agency_is_read_back_from_the_key_of_its_rate_card(agency: str) -> None:
    assert agency_of(latest_key(document_name(rate_card_name(agency)))["pk"]) == agency


@pytest.mark.parametrize("sk", ["v_0", "v_00000000", "v_1", "v_100000000", "v_0000001x", "metadata"])
def test_a_sort_key_outside_the_history_is_refused(sk: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        version_of(sk)
    with pytest.raises(ValueError, match=r".+"):
        agency_of("DOCUMENT#house rules")


def body(seen: int, sent: Any) -> dict[str, Any]:
    return {"seen": Decimal(seen), "content": sent}


def test_a_new_version_replaces_the_latest_and_joins_the_history() -> None:
    latest, history, metadata = new_version(
        read_draft("a", body(0, {"b": Decimal("1.0")}), [RATE_CARDS]), None, "shop", AT
    )
    assert (latest["sk"], history["sk"], metadata["sk"]) == ("v_0", "v_00000001", "metadata")
    assert {**latest, "sk": ""} == {**history, "sk": ""}
    assert latest["content"] == '{"b":1.0}'
    assert len(new_version(read_draft("a", body(1, "c"), [RATE_CARDS]), latest, "shop", AT)) == 2


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
def test_people_may_read_what_names_them_or_their_agency_and_machines_everything(
    agencies: set[str], people: set[str], name: str, agency: str
) -> None:
    permissions = Permissions(tuple(agencies), tuple(people))
    assert may_read(permissions, Caller(name, agency)) == (name in people or agency in agencies)
    assert may_read(permissions, Caller(name, None))
    assert Permissions.of(permissions_values("a", permissions, "shop", AT)) == permissions
    assert not may_read(Permissions.of(None), Caller(name, agency))
