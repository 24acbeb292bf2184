"""The released versions that this one is compared with, checked out from this repository."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.functions import ROOT
from quarterhour_tools.errors import ToolError

COMMITS: Final = {
    "0.1.0": "74d602ac5a1d6db356dc6d000936e6c5efd65dd0",
    "0.2.0": "83441da638dea8953976c3c478524541b77b27c4",
}
"""The commits of the released versions."""


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check out a commit to a temporary folder for the length of the block; raise ``ToolError`` if git cannot."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "released"
        _git("worktree", "add", "--detach", str(place), commit)
        try:
            yield place
        finally:
            _git("worktree", "remove", "--force", str(place))


def _git(*arguments: str) -> None:
    ended = subprocess.run(["git", "-C", str(ROOT), *arguments], check=False, capture_output=True, text=True)  # noqa: S603, S607 - our own arguments
    if ended.returncode:
        raise ToolError(f"git {arguments[0]}: {ended.stderr.strip()}")
