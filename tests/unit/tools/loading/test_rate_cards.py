"""A folder of rate cards: each file is named by its document."""

import json
from pathlib import Path

import pytest

from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.rate_cards import read
from tests.unit.registry.rate_cards.builders import content


def write(folder: Path, name: str, text: str = json.dumps(content())) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "document", "path"),
    [
        ("rate-card:42.json", "rate-card:42", "/documents/rate-card%253A42"),
        ("rate-card%3A42.json", "rate-card:42", "/documents/rate-card%253A42"),
        ("rate-card:default.json", "rate-card:default", "/documents/rate-card%253Adefault"),
        ("rate-card:group/eu.json", "rate-card:group/eu", "/documents/rate-card%253Agroup%252Feu"),
        ("rate-card%3Agroup%2Feu.json", "rate-card:group/eu", "/documents/rate-card%253Agroup%252Feu"),
        ("rate-card:50%25.json", "rate-card:50%", "/documents/rate-card%253A50%2525"),
    ],
)
def test_a_file_is_named_by_its_document(tmp_path: Path, name: str, document: str, path: str) -> None:
    (only,) = read(write(tmp_path, name))
    assert (only.document, only.path, only.content) == (document, path, content())


def test_a_rate_card_without_a_start_is_valid_from_the_beginning(tmp_path: Path) -> None:
    (only,) = read(write(tmp_path, "rate-card:42.json", '{"rules": [{"percent": 10}]}'))
    assert only.content["valid_from"] == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("42.json", json.dumps(content()), "is not named by a rate card"),
        ("rate-card:*.json", json.dumps(content()), "is not named by a rate card"),
        ("rate-card:group%2F.json", json.dumps(content()), "is not named by a rate card"),
        ("rate-card:42.json", "{", "is not JSON"),
        ("rate-card:42.json", '{"rules": [{"percent": 101}]}', r"rules\[0\].percent"),
        ("rate-card:42.json", "[]", "is not a rate card"),
        ("notes.txt", "", "holds no rate card"),
    ],
)
def test_a_folder_with_anything_else_is_refused(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        read(write(tmp_path, name, text))


def test_two_files_of_one_document_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "rate-card%3A42.json")
    with pytest.raises(ToolError, match="holds rate-card:42 twice"):
        read(write(tmp_path, "rate-card:42.json"))
    with pytest.raises(ToolError, match="is no folder"):
        read(tmp_path / "none")
