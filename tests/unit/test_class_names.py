"""Each class of the layer has a name of its own, so that a name means one thing wherever it is read."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import quarterhour

PACKAGE = Path(quarterhour.__path__[0])


def shared_names(files: Iterable[Path]) -> dict[str, list[str]]:
    """Return the public names that more than one class has, each with its files."""
    places = defaultdict(list)
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{file.parent.name}/{file.name}")
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_two_classes_share_a_name() -> None:
    assert shared_names(sorted(PACKAGE.rglob("*.py"))) == {}


def test_a_shared_name_is_found_with_its_files(tmp_path: Path) -> None:
    files = [tmp_path / folder / "plan.py" for folder in ("orders", "ledger", "schedule")]
    for file, names in zip(files, (["Order", "_Row"], ["Order", "_Row"], ["Change"]), strict=True):
        file.parent.mkdir()
        file.write_text("\n".join(f"class {name}:\n    pass" for name in names), "utf-8")
    assert shared_names(files) == {"Order": ["orders/plan.py", "ledger/plan.py"]}
