"""The console's modules follow the rules that the content security policy and the encoding of text rest on."""

import re
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.console_modules import MODULES, STATIC

FORBIDDEN = r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|localStorage"


def imported(module: Path) -> list[str]:
    """Return the modules that a module imports, as it names them."""
    return re.findall(r'^(?:import|\}) (?:.* )?(?:from )?"([^"]+)"', module.read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
class TestEachModule:
    def test_begins_with_what_it_is_for_and_fits_the_line(self, module: Path) -> None:
        text = module.read_text("utf-8")
        assert text.startswith("/**")
        assert [line for line in text.splitlines() if len(line) > 120] == []

    def test_writes_no_html_and_keeps_nothing(self, module: Path) -> None:
        assert re.findall(FORBIDDEN, module.read_text("utf-8")) == []

    def test_imports_only_modules_that_are_there(self, module: Path) -> None:
        for name in imported(module):
            assert name.startswith("."), name
            assert (module.parent / name).is_file(), name

    def test_documents_what_it_exports(self, module: Path) -> None:
        lines = module.read_text("utf-8").splitlines()
        bare = [line for before, line in pairwise(lines) if line.startswith("export ") and "*/" not in before]
        assert bare == []


def test_the_page_has_no_inline_script_or_style() -> None:
    page = (STATIC / "index.html").read_text("utf-8")
    assert re.findall(r"<style|style=|\son\w+=|<script(?![^>]*\bsrc=)", page) == []


def test_no_module_imports_itself_through_others() -> None:
    graph = {module: [(module.parent / name).resolve() for name in imported(module)] for module in MODULES}
    assert sum(map(len, graph.values())) > 100
    TopologicalSorter(graph).prepare()


FOLDERS = {
    "lib": set[str](),
    "proof": {"lib"},
    "recording": {"lib"},
    "statements": {"lib", "proof"},
    "start": {"lib"},
    "close": {"lib", "statements"},
    "payments": {"lib", "recording"},
    "agencies": {"lib", "recording", "statements"},
    "exchange-rates": {"lib"},
    "events": {"lib", "proof", "recording"},
    "operations": {"lib", "proof"},
}
"""The folders of modules, and those that each imports: a page's folder hardly knows another's."""


def test_folders_import_only_what_they_are_to_know() -> None:
    known: dict[str, set[str]] = {}
    for module in MODULES:
        if module.parent != STATIC:
            paths = [(module.parent / name).resolve().relative_to(STATIC) for name in imported(module)]
            others = {path.parts[0] for path in paths} - {module.parent.name, "vendor"}
            known.setdefault(module.parent.name, set()).update(others)
    assert known == FOLDERS
    TopologicalSorter(known).prepare()
