"""Who may see which data: only the access module decides."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import quarterhour
from quarterhour.model.errors import ForbiddenError, InvalidError
from quarterhour.web import access
from quarterhour.web.access import STAFF, Caller, own_agency
from tests.support.builders import one_of_staff, person
from tests.support.cases import cases
from tests.support.names import near
from tests.support.repository import ROOT

PACKAGE = Path(quarterhour.__path__[0])
FUNCTIONS = ROOT / "functions"
MACHINE, PERSON = Caller("arn:aws:iam::123456789012:user/shop", None), person("42")


def test_a_machine_may_see_every_agency_and_a_person_their_own() -> None:
    assert [(one.may_see("42"), one.may_see("7")) for one in (MACHINE, PERSON)] == [(True, True), (True, False)]


@cases(("own", "other"), [("42", "042"), *(("Café 42", other) for other in near("Café 42"))])
def test_agencies_with_similar_names_cannot_see_each_other(own: str, other: str) -> None:
    for one, another in ((own, other), (other, own)):
        ann = person(one)
        assert (ann.may_see(one), ann.may_see(another)) == (True, False)
        with pytest.raises(ForbiddenError):
            ann.narrowed(another)
        with pytest.raises(ForbiddenError):
            own_agency(ann, {"agency": another})


@pytest.mark.parametrize(
    ("caller", "shown"),
    [
        (person("50%"), ("50%",)),
        (person("50%25"), ("50%25",)),
        (person("50%25", "50%"), ("50%", "50%25")),
        (MACHINE, ("50%", "50%25")),
        (one_of_staff(*STAFF), ("50%", "50%25")),
    ],
    ids=["decoded twice", "decoded once", "both", "a machine", "staff"],
)
def test_of_two_agencies_that_a_path_can_mean_a_person_gets_only_their_own(
    caller: Caller, shown: tuple[str, ...]
) -> None:
    """``50%2525`` is ``50%`` decoded twice, and ``50%25`` decoded once."""
    variables = own_agency(caller, {"agency": "50%2525", "currency": "GBP"})
    assert variables == {"agency": shown, "currency": "GBP"}


def test_a_person_of_neither_agency_that_a_path_can_mean_gets_none() -> None:
    for agency in ("50", "50%2525", "25"):
        with pytest.raises(ForbiddenError):
            own_agency(person(agency), {"agency": "50%2525"})


def test_a_list_is_narrowed_to_a_persons_agency() -> None:
    assert [one.narrowed(None) for one in (MACHINE, PERSON)] == [None, "42"]
    assert [one.narrowed("42") for one in (MACHINE, PERSON)] == ["42", "42"]
    assert MACHINE.narrowed("7") == "7"
    with pytest.raises(ForbiddenError):
        PERSON.narrowed("7")


def test_staff_see_every_agency_as_machines_do() -> None:
    for role in STAFF:
        assert [one_of_staff(role).narrowed(agency) for agency in (None, "42", "7")] == [None, "42", "7"]


def test_a_person_of_several_agencies_names_one_for_a_list() -> None:
    ann = person("42", "43")
    assert [ann.narrowed(one) for one in ("42", "43")] == ["42", "43"]
    with pytest.raises(InvalidError, match="agency is missing: expected one of your agencies: 42, 43"):
        ann.narrowed(None)
    with pytest.raises(ForbiddenError):
        ann.narrowed("7")


def agencies_of_callers(file: Path) -> Iterator[str]:
    """Yield the places where a module reads a caller's agencies or roles; one that names no caller is not parsed."""
    text = file.read_text("utf-8")
    for node in ast.walk(ast.parse(text if "caller" in text else "")):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in {"agency", "agencies", "roles"}
            and "caller" in ast.unparse(node.value)
        ):
            yield f"{file.name}:{node.lineno}"


def test_only_the_access_module_reads_a_callers_agencies_and_roles() -> None:
    files = [*PACKAGE.rglob("*.py"), *FUNCTIONS.rglob("*.py")]
    assert Path(access.__file__) in files
    assert [place for file in files for place in agencies_of_callers(file)] == []
