"""Who may see what: decided in one place, and nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import quarterhour
from quarterhour import access
from quarterhour.access import Caller
from quarterhour.errors import ForbiddenError

PACKAGE = Path(quarterhour.__path__[0])
FUNCTIONS = Path(__file__).parents[3] / "functions"
MACHINE, PERSON = Caller("arn:aws:iam::123456789012:user/shop", None), Caller("ann", "42")


def test_a_machine_may_see_every_agency_and_a_person_their_own() -> None:
    assert [(one.may_see("42"), one.may_see("7")) for one in (MACHINE, PERSON)] == [(True, True), (True, False)]


def test_a_list_is_narrowed_to_a_persons_agency() -> None:
    assert [one.narrowed(None) for one in (MACHINE, PERSON)] == [None, "42"]
    assert [one.narrowed("42") for one in (MACHINE, PERSON)] == ["42", "42"]
    assert MACHINE.narrowed("7") == "7"
    with pytest.raises(ForbiddenError):
        PERSON.narrowed("7")


def agencies_of_callers(file: Path) -> Iterator[str]:
    """Yield where a module looks at a caller's agency itself."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr == "agency" and "caller" in ast.unparse(node.value):
            yield f"{file.name}:{node.lineno}"


def test_no_other_module_decides_by_a_callers_agency() -> None:
    files = [*PACKAGE.rglob("*.py"), *FUNCTIONS.rglob("*.py")]
    assert Path(access.__file__) in files
    assert [told for file in files for told in agencies_of_callers(file)] == []
