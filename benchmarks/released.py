"""Checks out the released version that the benchmarks compare this one with, from this repository."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.functions import ROOT
from quarterhour_tools.errors import ToolError

RELEASED: Final = "0.2.0"
"""The number of the released version."""
COMMIT: Final = "83441da638dea8953976c3c478524541b77b27c4"
"""The commit of the released version."""


@contextmanager
def checked_out(commit: str = COMMIT) -> Iterator[Path]:
    """Check out a commit, by default the released one, for the length of the block.

    Yields a temporary folder. Raises ``ToolError`` if git cannot check out.
    """
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
