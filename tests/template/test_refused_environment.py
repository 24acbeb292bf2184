"""A function whose environment holds a number that it cannot work with does not start."""

from dataclasses import replace

import pytest

from quarterhour.model.errors import SettingsError
from quarterhour_tools.emulator.template import Template
from tests.support.repository import ROOT
from tests.template.calls import started
from tests.template.stack import attribute, parsed

AT_LEAST_ONE = ("LEDGER_SHARDS",)
FUNCTIONS = Template(parsed(), ROOT).functions(attribute)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        (name, variable)
        for name in sorted(FUNCTIONS)
        for variable in AT_LEAST_ONE
        if variable in FUNCTIONS[name].environment
    ],
)
def test_a_function_starts_with_one_but_not_with_none(
    name: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = FUNCTIONS[name]
    started(replace(function, environment={**function.environment, variable: "1"}), monkeypatch)
    with pytest.raises(SettingsError, match=f"^{variable} is '0': expected a whole number of at least 1$"):
        started(replace(function, environment={**function.environment, variable: "0"}), monkeypatch)
