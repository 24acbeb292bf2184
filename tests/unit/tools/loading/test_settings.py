"""The file of the settings: read whole, and shown with the defaults."""

from pathlib import Path

import pytest

from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.settings import read


def written(folder: Path, text: str) -> Path:
    file = folder / "settings.json"
    file.write_text(text)
    return file


def test_numbers_are_sent_as_json_has_them(tmp_path: Path) -> None:
    content = read(written(tmp_path, '{"held_days": 3, "commission_rate": 0.5, "base_currency": null}')).content
    assert content == {"held_days": 3, "commission_rate": "0.5", "base_currency": None}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not JSON"),
        ("[]", "is not an object"),
        ('{"approvals": 3, "release": "no"}', "release is 'no'.*approvals is 3"),
    ],
)
def test_an_invalid_file_is_refused_with_every_problem(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        read(written(tmp_path, text))
