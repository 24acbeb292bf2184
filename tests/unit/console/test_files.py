"""The console offers the maps that come with Quarterhour."""

import json
import re

from quarterhour.file_formats.csv.map import shipped_maps
from tests.support.console_modules import STATIC


def test_the_maps_of_the_upload_are_those_that_come_with_quarterhour() -> None:
    (listed,) = re.findall(r"export const MAPS = (\[[^\]]*\]);", (STATIC / "events" / "files.js").read_text("utf-8"))
    assert json.loads(listed) == shipped_maps()
