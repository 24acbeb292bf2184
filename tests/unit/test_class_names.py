"""A name of a class or a type means one thing, in the layer and in the tools.

The types of the API are an exception: each ``api.py``, and ``openapi/``, name what they describe. Among themselves,
the types of the API share no name either, as they are the schemas of one document.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import quarterhour
import quarterhour_tools

LAYER = Path(quarterhour.__path__[0])
TOOLS = Path(quarterhour_tools.__path__[0])
API = "api.py"


def type_names(module: ast.Module) -> Iterator[str]:
    """Yield the names of a module's classes, and those that it gives to types: ``Totals = dict[str, Decimal]``.

    A type variable has no meaning in itself, so it may have the same name in two modules: ``OrderedT``.
    """
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                is_variable = name.endswith(("T", "T_co", "T_contra"))
                if name[0].isupper() and not name.isupper() and not is_variable:
                    yield name


def shared_names(files: Iterable[Path]) -> dict[str, list[str]]:
    """Return the public names that more than one type has, each with its files."""
    places = defaultdict(list)
    for file in files:
        for name in type_names(ast.parse(file.read_text("utf-8"))):
            if not name.startswith("_"):
                places[name].append(f"{file.parent.name}/{file.name}")
    return {name: found for name, found in places.items() if len(found) > 1}


@pytest.mark.parametrize("package", [LAYER, TOOLS], ids=lambda package: package.name)
def test_no_two_types_share_a_name(package: Path) -> None:
    files = sorted(package.rglob("*.py"))
    assert files
    assert shared_names(one for one in files if one.name != API and TOOLS / "openapi" not in one.parents) == {}


def test_no_two_types_of_the_api_share_a_name() -> None:
    files = sorted(LAYER.rglob(API))
    assert files
    assert shared_names(files) == {}


def test_a_shared_name_is_found_with_its_files(tmp_path: Path) -> None:
    files = [tmp_path / folder / "plan.py" for folder in ("orders", "ledger", "schedule")]
    for file, names in zip(files, (["Order", "_Row"], ["Order", "_Row"], ["Change"]), strict=True):
        file.parent.mkdir()
        file.write_text("\n".join(f"class {name}:\n    pass" for name in names), "utf-8")
    assert shared_names(files) == {"Order": ["orders/plan.py", "ledger/plan.py"]}


@pytest.mark.parametrize("line", ["Order = dict[str, int]", "Order: TypeAlias = int", "Order = int | None"])
def test_a_name_that_a_module_gives_to_a_type_is_found(tmp_path: Path, line: str) -> None:
    files = [tmp_path / "classes.py", tmp_path / "aliases.py"]
    files[0].write_text("class Order:\n    LIMIT = 1\n    Items = 2\n", "utf-8")
    files[1].write_text(f'{line}\nLIMIT = 1\nItemT = TypeVar("ItemT")\norder = 1\n', "utf-8")
    assert list(shared_names(files)) == ["Order"]
