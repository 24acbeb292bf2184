"""What `make build` leaves for a deployment: every module compiled for Lambda, and nothing that it does not need."""

import os
import shutil
from _imp import source_hash  # importlib.util has it for this Python alone
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.support.repository import ROOT

BUILD: Final = ROOT / ".aws-sam" / "build"
LAYER: Final = "QuarterhourLayer"
MAGIC: Final = (3571).to_bytes(2, "little") + b"\r\n"
"""Of Python 3.13."""
UNCHECKED_HASH: Final = (1).to_bytes(4, "little")
"""The flags of a compiled module that names the hash of its source, and is loaded without comparing it."""
TAG: Final = "cpython-313"


@pytest.fixture(scope="module")
def built() -> Path:
    if not (BUILD / LAYER).is_dir():
        message = "nothing is built: make build"
        if os.environ.get("CI"):
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    return BUILD


def problems(folder: Path) -> Iterator[str]:
    """Yield what is wrong with a built folder, by the paths in it."""
    sources = set(folder.rglob("*.py"))
    for source in sorted(sources):
        name = source.relative_to(folder)
        compiled = source.parent / "__pycache__" / f"{source.stem}.{TAG}.pyc"
        if not compiled.is_file():
            yield f"{name} is not compiled"
            continue
        content = compiled.read_bytes()
        if content[:4] != MAGIC:
            yield f"{name} is compiled for another Python"
        elif content[4:8] != UNCHECKED_HASH:
            yield f"{name} is compared with its source when it is loaded"
        elif content[8:16] != source_hash(int.from_bytes(MAGIC, "little"), source.read_bytes()):
            yield f"{name} differs from its source"
    for compiled in sorted(folder.rglob("*.pyc")):
        stem, _, tag = compiled.stem.partition(".")
        if compiled.parent.parent / f"{stem}.py" not in sources or tag != TAG:
            yield f"{compiled.relative_to(folder)} has no source"
    for needless in ("tests", "pip", "setuptools", "bin", "moto"):
        if (folder / "python" / needless).exists():
            yield f"{needless} is shipped"


def test_every_module_of_the_layer_and_the_functions_is_compiled_for_lambda(built: Path) -> None:
    assert {one.name: list(problems(one)) for one in built.iterdir() if one.is_dir() and any(problems(one))} == {}
    assert len(list((built / LAYER / "python" / "quarterhour").rglob("*.pyc"))) > 100


def test_compiled_modules_name_the_place_where_lambda_unpacks_them(built: Path) -> None:
    content = (built / LAYER / "python" / "dateutil" / "__pycache__" / f"__init__.{TAG}.pyc").read_bytes()
    assert b"/opt/python/dateutil/__init__.py" in content
    assert str(built).encode() not in content


def test_the_console_is_built_with_the_runbooks_themselves(built: Path) -> None:
    runbooks = built / "ConsoleOption" / "ConsoleFunction" / "runbooks.md"
    assert not runbooks.is_symlink()
    assert runbooks.read_text("utf-8") == (ROOT / "docs" / "runbooks.md").read_text("utf-8")


def test_the_built_templates_hold_no_yaml_alias_as_cloudformation_reads_none(built: Path) -> None:
    for template in built.rglob("template.yaml"):
        assert not [token for token in yaml.scan(template.read_text("utf-8")) if isinstance(token, yaml.AliasToken)]


def test_the_check_finds_what_is_wrong(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "python"
    shutil.copytree(built / LAYER / "python" / "dateutil", folder / "dateutil")
    shutil.copytree(built / LAYER / "python" / "jmespath", folder / "jmespath")
    (folder / "tests").mkdir()
    (folder / "dateutil" / "new.py").write_text("", "utf-8")
    (folder / "jmespath" / "ast.py").write_text("changed = True", "utf-8")
    (folder / "jmespath" / "lexer.py").unlink()
    checked = folder / "jmespath" / "__pycache__" / f"compat.{TAG}.pyc"
    checked.write_bytes(MAGIC + bytes(12))
    other = folder / "jmespath" / "__pycache__" / f"parser.{TAG}.pyc"
    other.write_bytes(bytes(16))
    assert set(problems(tmp_path)) == {
        "python/dateutil/new.py is not compiled",
        "python/jmespath/ast.py differs from its source",
        "python/jmespath/compat.py is compared with its source when it is loaded",
        "python/jmespath/parser.py is compiled for another Python",
        f"python/jmespath/__pycache__/lexer.{TAG}.pyc has no source",
        "tests is shipped",
    }
