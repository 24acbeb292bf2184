"""The contracts of `make lint` fail on imports that they forbid, planted in a copy of the packages."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
FEATURES = "Features import web, web imports aws, aws imports model; features import downwards"
TOOLS = "The tools import downwards"
LEDGER = "The folders of the ledger import downwards"
SHIPPED = "The functions do not ship the tools"
CLIENT = "The producer library imports downwards"
APART = "The producer library and the product do not import each other"
ALONE = "The producer library imports no tools and no AWS client"
PURE = "The model, the HTML, every keys.py, plan.py and page.py load without an AWS client"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the packages and of the project's own contracts."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    library = ROOT / "clients" / "python" / "src" / "quarterhour_client"
    for package in (ROOT / "layers" / "quarterhour" / "quarterhour", ROOT / "quarterhour_tools", library):
        shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def broken(folder: Path) -> set[str]:
    """Return the names of the contracts that lint-imports reports broken in a folder."""
    run = subprocess.run(  # noqa: S603 - the tool of our own environment
        [LINT_IMPORTS, "--no-logo", "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    names = {line.removesuffix(" BROKEN") for line in run.stdout.splitlines() if line.endswith(" BROKEN")}
    assert run.returncode == bool(names), run.stdout + run.stderr
    return names


@pytest.mark.parametrize(
    "planted",
    [
        {
            ("quarterhour/model/money.py", "quarterhour.web"): FEATURES,
            ("quarterhour_tools/emulator/stack.py", "quarterhour_tools.cli"): TOOLS,
            ("quarterhour/ledger/recording/claim_store.py", "quarterhour.ledger.held.plan"): LEDGER,
            ("quarterhour/aws/clients.py", "quarterhour_tools.errors"): SHIPPED,
            ("quarterhour_client/plan.py", "quarterhour_client.spool"): CLIENT,
            ("quarterhour_client/events.py", "quarterhour.model.money"): APART,
            ("quarterhour_client/transport.py", "botocore"): ALONE,
            ("quarterhour/orders/keys.py", "boto3"): PURE,
        },
        {
            ("quarterhour/aws/tables.py", "quarterhour.ledger.events.event"): FEATURES,
            ("quarterhour/ledger/postings/segments.py", "quarterhour.ledger.recording.claims"): LEDGER,
            ("quarterhour/model/money.py", "quarterhour_client.events"): APART,
            ("quarterhour_client/testing.py", "quarterhour_tools.errors"): ALONE,
            ("quarterhour/ledger/keys.py", "boto3"): PURE,
        },
        {
            ("quarterhour/ledger/held/service.py", "quarterhour.reports.lines"): FEATURES,
            ("quarterhour/ledger/recording/plan.py", "quarterhour.aws.clients"): PURE,
        },
        {("quarterhour/another_feature/__init__.py", "quarterhour.model"): FEATURES},
    ],
    ids=["one of each", "another of each", "two more", "a new feature"],
)
def test_planted_imports_break_their_contracts_and_no_others(copied: Path, planted: dict[tuple[str, str], str]) -> None:
    for file, imported in planted:
        module = copied / file
        module.parent.mkdir(exist_ok=True)
        with module.open("a", encoding="utf-8") as source:
            source.write(f"\nimport {imported}\n")
    assert broken(copied) == set(planted.values())


def test_without_a_planted_import_every_contract_is_kept(copied: Path) -> None:
    assert broken(copied) == set()
