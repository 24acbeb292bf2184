"""The modules that must load without an AWS client, each in a fresh interpreter."""

import subprocess
import sys
from pathlib import Path

import pytest

import quarterhour
from tests.support.repository import ROOT

PACKAGE = Path(quarterhour.__path__[0])
CLIENTS = {"boto3", "botocore", "aws_lambda_powertools"}
PURE = sorted(
    ".".join(("quarterhour", *file.relative_to(PACKAGE).with_suffix("").parts))
    for file in PACKAGE.rglob("*.py")
    if file.parent.name == "model" or file.name in {"keys.py", "plan.py"}
)


def loaded_by(module: str) -> set[str]:
    """Return the top-level packages that a fresh interpreter has loaded after it imported a module."""
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    return set(run.stdout.split())


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_loads_no_aws_client(module: str) -> None:
    assert loaded_by(module) & CLIENTS == set()


def test_the_check_detects_a_loaded_client() -> None:
    assert loaded_by("quarterhour.aws.clients") >= {"botocore"}
    assert {"quarterhour.model.identifiers", "quarterhour.ledger.plan", "quarterhour.orders.keys"} <= set(PURE)


def test_the_functions_import_neither_the_tools_nor_the_tests() -> None:
    for handler in sorted((ROOT / "functions").rglob("*.py")):
        lines = handler.read_text("utf-8").splitlines()
        imported = {line.split()[1].partition(".")[0] for line in lines if line.startswith(("from ", "import "))}
        assert imported & {"quarterhour_tools", "tests", "benchmarks"} == set(), handler
