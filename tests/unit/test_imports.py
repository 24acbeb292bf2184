"""The modules that must load without an AWS client, in a fresh interpreter."""

import subprocess
import sys
from pathlib import Path

import quarterhour
from tests.support.repository import ROOT

PACKAGE = Path(quarterhour.__path__[0])
CLIENTS = {"boto3", "botocore", "aws_lambda_powertools"}
PURE = sorted(
    ".".join(("quarterhour", *file.relative_to(PACKAGE).with_suffix("").parts))
    for file in PACKAGE.rglob("*.py")
    if file.parent.name in {"model", "html"} or file.name in {"keys.py", "plan.py", "page.py"}
)


IMPORTS = """
import sys
from importlib import import_module
for module in sys.argv[1:]:
    import_module(module)
    print(module, *{name.partition(".")[0] for name in sys.modules})
"""


def loading_clients(*modules: str) -> list[str]:
    """Import modules one after the other in a fresh interpreter; return those after which AWS clients are loaded."""
    run = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", IMPORTS, *modules], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    loaded = {module: set(packages) for module, *packages in map(str.split, run.stdout.splitlines())}
    assert loaded.keys() == set(modules)
    return [module for module, packages in loaded.items() if packages & CLIENTS]


def test_no_pure_module_loads_an_aws_client() -> None:
    some = {"quarterhour.model.identifiers", "quarterhour.ledger.recording.plan", "quarterhour.orders.keys"}
    assert some <= set(PURE)
    assert loading_clients(*PURE) == [], "the first of these loads it"


def test_the_check_detects_a_loaded_client() -> None:
    assert loading_clients("quarterhour.aws.clients") == ["quarterhour.aws.clients"]


def test_the_functions_import_neither_the_tools_nor_the_tests() -> None:
    for handler in sorted((ROOT / "functions").rglob("*.py")):
        lines = handler.read_text("utf-8").splitlines()
        imported = {line.split()[1].partition(".")[0] for line in lines if line.startswith(("from ", "import "))}
        assert imported & {"quarterhour_tools", "tests", "benchmarks"} == set(), handler


def test_no_function_loads_the_types_of_the_api() -> None:
    for file in PACKAGE.rglob("*.py"):
        if file.name != "api.py":
            lines = file.read_text("utf-8").splitlines()
            imported = [line.split() for line in lines if line.startswith("from ")]
            assert not [one for one in imported if one[1].endswith(".api") or one[3:] == ["api"]], file
