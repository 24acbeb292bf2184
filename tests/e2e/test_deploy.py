"""`make deploy` from a bare clone: the SAM CLI builds, packages and deploys it to moto, without a question.

moto makes no API, so of `quarterhour check` only its first request is seen.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from tests.e2e.rehearsal import SAM, endpoint
from tests.support.repository import ROOT

pytestmark = pytest.mark.slow

OF_ENVIRONMENTS = ("pyproject.toml", "clients/python/pyproject.toml", "requirements/dev.txt", "requirements/sam.txt")
"""What an environment is made of: older than it, so that the clone uses those of this folder."""


@pytest.fixture
def url() -> Iterator[str]:
    with endpoint() as found:
        yield found


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a repository with what is tracked here, as it is."""
    if not SAM.is_file() or (not any(Path.home().glob(".pyenv/versions/3.13.*")) and not shutil.which("python3.13")):
        pytest.skip("nothing was deployed: the SAM CLI or Python 3.13 is missing; make build sets them up")
    folder = tmp_path / "clone"
    for name in git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    git(folder, "init")
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--message=x")
    for name in OF_ENVIRONMENTS:
        os.utime(folder / name, (0, 0))
    return folder


def git(folder: Path, *arguments: str) -> str:
    ended = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603, S607
    return ended.stdout


def deploy(clone: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `make deploy` where nobody can answer a question."""
    environments = (f"VENV={ROOT / '.venv'}", f"VENV_SAM={SAM.parents[1]}")
    return subprocess.run(  # noqa: S603
        ["make", "deploy", *environments, *arguments],  # noqa: S607
        cwd=clone,
        env={**os.environ, "SAM_CLI_POLL_DELAY": "0.2", **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_bare_clone_is_deployed_by_one_command_which_asks_nothing_and_changes_no_tracked_file(
    clone: Path, url: str
) -> None:
    (clone / "parameters.dev.toml").write_text("LogRetentionDays = 7\n", "utf-8")
    # The one host for which moto finds a bucket's name in the path of a template's URL.
    ended = deploy(clone, AWS_ENDPOINT_URL=url.replace("127.0.0.1", "localhost"))

    assert "Successfully created/updated stack - quarterhour-dev" in ended.stdout, ended.stdout + ended.stderr
    said = ended.stdout.partition("Successfully created")[2]
    assert "The API of quarterhour-dev: https://" in said
    assert "This account may run 10 functions at once" in said
    assert "quarterhour: GET https://" in ended.stderr, "quarterhour check has asked the API, which moto does not make"
    (stack,) = boto3.client("cloudformation").describe_stacks(StackName="quarterhour-dev")["Stacks"]
    given = {one["ParameterKey"]: one["ParameterValue"] for one in stack["Parameters"]}
    assert (given["Stage"], given["LogRetentionDays"]) == ("dev", "7")
    assert git(clone, "status", "--porcelain") == ""


def test_a_parameter_that_the_template_does_not_take_stops_it_before_anything_is_built(clone: Path, url: str) -> None:
    (clone / "parameters.dev.toml").write_text("LedgerShard = 4\n", "utf-8")
    ended = deploy(clone, AWS_ENDPOINT_URL=url)
    assert ended.returncode != 0
    assert "quarterhour: parameters.dev.toml: the template has no parameter LedgerShard\n" in ended.stderr
    assert not (clone / ".aws-sam").exists()
