"""The console's page of the settings shows each of them, with its default."""

import re

from quarterhour.registry.settings.settings import DEFAULTS
from tests.support.repository import ROOT

PAGE = (ROOT / "functions" / "console" / "static" / "operations" / "settings.js").read_text("utf-8")


def test_each_setting_is_shown_with_its_default() -> None:
    shown = dict(re.findall(r'^  \["(\w+)", "[^"]+", "([^"]+)"\],$', PAGE, re.MULTILINE))
    usual = {name: "none" if value in (None, []) else str(value) for name, value in DEFAULTS.items()}
    assert shown == usual | {"periods_from": "the beginning"}
