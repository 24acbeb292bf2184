"""The pages: every link inside the project has a target, and what a page names in a module is defined there."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.support.cases import cases
from tests.support.pages import broken_links
from tests.support.repository import ROOT

PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]


@cases("page", PAGES, ids=lambda page: page.name)
def test_every_link_inside_the_project_has_a_target(page: Path) -> None:
    assert list(broken_links(page.read_text("utf-8"), page.parent)) == []


NAMED = re.compile(r"\]\(([^)]+\.py)\): ((?:`test_\w+`(?:, )?)+)")


@cases("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    for file, names in NAMED.findall(page.read_text("utf-8")):
        content = (page.parent / file).read_text("utf-8")
        assert [name for name in re.findall(r"\w+", names) if f"def {name}(" not in content] == [], file


MODULES = (ROOT, ROOT / "layers" / "quarterhour" / "quarterhour", ROOT / "quarterhour_tools")
"""The folders that the path of a module may begin at, if it is no link."""
SYMBOL = re.compile(r"`([A-Za-z_]\w*)(?:\.(\w+))?` (?:in|of)\s+(?:\[[^\]]+\]\(([^)\s#]+\.py)\)|`([\w/]+\.py)`)")
"""```Name` in [module](module.py)``, or of it: a class, a function, a constant or a member of a class."""
LINKED_SYMBOL = re.compile(r"\[`([A-Za-z_]\w*)(?:\.(\w+))?`\]\(([^)\s#]+\.py)()\)")


def defined(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Return what the body of a module or of a class defines, by name."""
    found: dict[str, ast.stmt] = {}
    for node in body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = node
    return found


def defines(module: Path, name: str, member: str) -> bool:
    found = defined(ast.parse(module.read_text("utf-8")).body).get(name)
    return bool(found) and (not member or (isinstance(found, ast.ClassDef) and member in defined(found.body)))


def undefined(page: Path, text: str) -> list[str]:
    """Return the symbols that a page names beside a module that does not define them."""
    wrong = []
    for pattern in (SYMBOL, LINKED_SYMBOL):
        for name, member, link, path in pattern.findall(text):
            if member == "py":  # the name of a file
                continue
            places = [page.parent / link] if link else [folder / path for folder in MODULES]
            if not any(place.exists() and defines(place, name, member) for place in places):
                wrong.append(f"{name}.{member} in {link or path}" if member else f"{name} in {link or path}")
    return wrong


@cases("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_beside_a_module_is_defined_there(page: Path) -> None:
    assert undefined(page, page.read_text("utf-8")) == []


def test_a_symbol_that_its_module_does_not_define_is_found(tmp_path: Path) -> None:
    (tmp_path / "plan.py").write_text("LIMIT: int = 1\nclass Plan:\n    first: int\n    def next(self): ...\n", "utf-8")
    page = tmp_path / "page.md"
    right = "`LIMIT` of [it](plan.py), `Plan` in\n[it](plan.py), `Plan.first` in [it](plan.py), [`Plan.next`](plan.py)"
    assert undefined(page, f"{right}, [`plan.py`](plan.py) and `Claim.of` in `ledger/recording/claims.py`") == []
    wrong = (
        "`LEAST` of [it](plan.py), `Plan.last` in [it](plan.py), [`next`](plan.py), "
        "`outcomes` in `ledger/recording/plan.py`"
    )
    assert undefined(page, wrong) == [
        "LEAST in plan.py",
        "Plan.last in plan.py",
        "outcomes in ledger/recording/plan.py",
        "next in plan.py",
    ]


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("\n## Folders\n")[2]
ROW_OF_FOLDERS = re.compile(r"^\| ((?:`[\w/]+/`(?:, )?)+) \|", re.MULTILINE)


def folders(text: str) -> list[str]:
    return re.findall(r"`([\w/]+)/`", text)


@pytest.mark.parametrize("package", ["layers/quarterhour/quarterhour", "quarterhour_tools"])
def test_each_folder_of_a_package_has_its_row(package: str) -> None:
    table = ARCHITECTURE.partition(f"(../{package}):\n\n")[2].partition("\n\n")[0]
    rows = [folder for row in ROW_OF_FOLDERS.findall(table) for folder in folders(row)]
    assert sorted({row.partition("/")[0] for row in rows}) == sorted(
        place.parent.name for place in (ROOT / package).glob("*/__init__.py")
    )


def test_the_layers_of_the_page_are_those_that_lint_holds() -> None:
    (lint,) = (
        contract["layers"]
        for contract in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers" and contract["containers"] == ["quarterhour"]
    )
    layers = ARCHITECTURE.partition("Imports point downwards.")[2].partition("\n\n> ")[2].partition("\n\n")[0]
    _programs, *page = [set(folders(layer)) for layer in layers.split("→")]
    assert page == [set(layer.split(" | ")) for layer in lint]


TEST = re.compile(r"\[`(test_\w+)`\]\(([^)]+)\)")


def test_each_task_of_the_console_has_a_test_and_each_role_has_three() -> None:
    page = ROOT / "docs" / "console.md"
    section = page.read_text("utf-8").partition("\n## Tasks\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)[1:]
    assert Counter(row.split(" | ")[0] for row in rows) == {"controller": 3, "agency's person": 3, "auditor": 3}
    for row in rows:
        ((name, file),) = TEST.findall(row)
        assert f"def {name}(" in (page.parent / file).read_text("utf-8"), row
