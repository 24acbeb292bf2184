"""What a function reads when it starts is what the template gives it, no less and no more."""

import pytest

from quarterhour_tools.emulator.template import Template
from tests.template.calls import started
from tests.template.stack import attribute

FUNCTIONS = [
    *("ingest", "write", "read", "counters", "snapshots"),
    *("report", "statements", "watch", "repair", "billing", "intake", "connections", "notify", "console"),
]
LIBRARIES = ("AWS_", "POWERTOOLS_", "QUARTERHOUR_")
"""What is not the template's: the last ones are set by the emulator alone."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_starts_on_its_environment_and_needs_all_of_it(
    template: Template, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = template.functions(attribute)[name]
    module, requested = started(function, monkeypatch)
    of_libraries = {variable for variable in requested | set(function.environment) if variable.startswith(LIBRARIES)}
    assert requested - of_libraries == set(function.environment) - of_libraries
    assert callable(getattr(module, function.handler.removeprefix("handler.")))


def test_no_function_on_aws_may_send_webhooks_to_its_own_machine(template: Template) -> None:
    for function in template.functions(attribute).values():
        assert not any(name.startswith("QUARTERHOUR_") for name in function.environment)


def test_the_functions_are_those_known_here(template: Template) -> None:
    assert sorted(template.functions(attribute)) == sorted(FUNCTIONS)
