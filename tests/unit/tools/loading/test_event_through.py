"""The key of a file that is sent through the inbox."""

from pathlib import Path

import pytest

from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_through import key_of


def test_a_key_names_the_map_and_the_settings_of_a_csv_file() -> None:
    assert key_of(Path("a/x.csv"), "stripe", ["agency=42"]) == "inbox/stripe/agency=42/x.csv"


@pytest.mark.parametrize("name", [".", "..", "a/b", "../x"])
def test_a_map_that_would_lead_to_another_folder_is_refused(name: str) -> None:
    with pytest.raises(ToolError, match="no / in it or in --map, which is no"):
        key_of(Path("x.csv"), name, ["agency=42"])
