"""Who may see which data: only the access module decides."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import quarterhour
from quarterhour.model.errors import ForbiddenError
from quarterhour.web import access
from quarterhour.web.access import Caller, own_agency
from tests.support.repository import ROOT

PACKAGE = Path(quarterhour.__path__[0])
FUNCTIONS = ROOT / "functions"
MACHINE, PERSON = Caller("arn:aws:iam::123456789012:user/shop", None), Caller("ann", "42")


def test_a_machine_may_see_every_agency_and_a_person_their_own() -> None:
    assert [(one.may_see("42"), one.may_see("7")) for one in (MACHINE, PERSON)] == [(True, True), (True, False)]


@pytest.mark.parametrize(("own", "other"), [("ann", "Ann"), ("42", "042"), ("a b", "a b "), ("\u00e9", "e\u0301")])
def test_agencies_with_similar_names_cannot_see_each_other(own: str, other: str) -> None:
    for one, another in ((own, other), (other, own)):
        person = Caller("ann", one)
        assert (person.may_see(one), person.may_see(another)) == (True, False)
        with pytest.raises(ForbiddenError):
            person.narrowed(another)
        with pytest.raises(ForbiddenError):
            own_agency(person, {"agency": another})


@pytest.mark.parametrize(
    ("person", "shown"),
    [("50%", ("50%",)), ("50%25", ("50%25",)), (None, ("50%", "50%25"))],
    ids=["decoded twice", "decoded once", "a machine"],
)
def test_of_two_agencies_that_a_path_can_mean_a_person_gets_only_their_own(
    person: str | None, shown: tuple[str, ...]
) -> None:
    """``50%2525`` is ``50%`` decoded twice, and ``50%25`` decoded once."""
    variables = own_agency(Caller("ann", person), {"agency": "50%2525", "currency": "GBP"})
    assert variables == {"agency": shown, "currency": "GBP"}


def test_a_person_of_neither_agency_that_a_path_can_mean_gets_none() -> None:
    for agency in ("50", "50%2525", "25"):
        with pytest.raises(ForbiddenError):
            own_agency(Caller("ann", agency), {"agency": "50%2525"})


def test_a_list_is_narrowed_to_a_persons_agency() -> None:
    assert [one.narrowed(None) for one in (MACHINE, PERSON)] == [None, "42"]
    assert [one.narrowed("42") for one in (MACHINE, PERSON)] == ["42", "42"]
    assert MACHINE.narrowed("7") == "7"
    with pytest.raises(ForbiddenError):
        PERSON.narrowed("7")


def agencies_of_callers(file: Path) -> Iterator[str]:
    """Yield the places where a module reads a caller's agency."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr == "agency" and "caller" in ast.unparse(node.value):
            yield f"{file.name}:{node.lineno}"


def test_only_the_access_module_reads_a_callers_agency() -> None:
    files = [*PACKAGE.rglob("*.py"), *FUNCTIONS.rglob("*.py")]
    assert Path(access.__file__) in files
    assert [place for file in files for place in agencies_of_callers(file)] == []
