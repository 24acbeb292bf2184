"""What a function reads when it starts is what the template gives it, no less and no more."""

from collections.abc import Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from local.template import Function, Template
from quarterhour.settings import Environment
from tests.template.stack import attribute

FUNCTIONS = ["ingest", "counters", "snapshots", "report", "rebuild", "api"]
LIBRARIES = ("AWS_", "POWERTOOLS_")


class Watched(Mapping[str, str]):
    """Variables that remember which of them were asked for."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return self.variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)


def start(function: Function, patch: pytest.MonkeyPatch) -> set[str]:
    """Import the function's handler as Lambda does, in its environment; return the names that it asked for."""
    variables = Watched(function.environment)
    patch.setattr(Environment, "of_process", lambda: Environment(variables))
    patch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    spec = spec_from_file_location(f"started_{function.name}", function.code / "handler.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert callable(getattr(module, function.handler.removeprefix("handler.")))
    return variables.asked


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_starts_on_its_environment_and_needs_all_of_it(
    template: Template, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = template.functions(attribute)[name]
    given = {variable for variable in function.environment if not variable.startswith(LIBRARIES)}
    assert start(function, monkeypatch) == given


def test_the_functions_are_those_known_here(template: Template) -> None:
    assert sorted(template.functions(attribute)) == sorted(FUNCTIONS)
