"""The owner from a file: checked first, written only if it differs, with what a complete statement lacks."""

from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.agencies import CHANGED, CREATED, UNCHANGED
from quarterhour_tools.loading.owner import OwnerFile, read, register


def file(folder: Path, content: str) -> Path:
    path = folder / "owner.json"
    path.write_text(content)
    return path


def test_an_owner_is_read_with_what_a_complete_statement_lacks(tmp_path: Path) -> None:
    owner = read(file(tmp_path, '{"legal_name": "Corner Market Ltd", "country": "GB", "payment_days": 14.0}'))
    assert owner.content == {"legal_name": "Corner Market Ltd", "country": "GB", "payment_days": 14}
    assert owner.missing == ["address", "vat_id", "iban"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "is not JSON"),
        ("[]", "is not an object"),
        ('{"country": "UK"}', "legal_name is missing.*country is 'UK'"),
        ('{"legal_name": "x", "iban": "DE00"}', "iban is 'DE00'"),
    ],
)
def test_an_invalid_file_is_refused_with_every_problem(tmp_path: Path, content: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        read(file(tmp_path, content))


def test_an_owner_is_written_only_if_it_differs() -> None:
    stored: dict[str, Any] = {}

    def send(method: str, path: str, body: Any) -> tuple[int, Any]:
        assert path == "/documents/owner"
        if method == "GET":
            return (200, stored) if stored else (404, {})
        stored.update(version=body["seen"] + 1, content=body["content"])
        return 201, {}

    first, second = OwnerFile({"legal_name": "A"}, []), OwnerFile({"legal_name": "B"}, [])
    assert [register(one, send) for one in (first, first, second)] == [CREATED, UNCHANGED, CHANGED]
    assert stored == {"version": 2, "content": {"legal_name": "B"}}


def test_a_refusal_ends_the_command() -> None:
    with pytest.raises(ToolError, match="GET /documents/owner failed with 403"):
        register(OwnerFile({}, []), lambda *_: (403, {}))
    with pytest.raises(ToolError, match="PUT /documents/owner failed with 409: has changed"):
        register(
            OwnerFile({}, []), lambda method, *_: (404, {}) if method == "GET" else (409, {"detail": "has changed"})
        )
