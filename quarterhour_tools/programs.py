"""Programs that are not Python's: fetched once into a cache folder, and run as child processes."""

import os
import subprocess  # nosec B404
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

_STOPS_WITHIN: Final = 10.0


def fetched(name: str, fetch: Callable[[Path], None]) -> Path:
    """Return a folder of the cache; at its first use, ``fetch`` fills it. It appears only when it is complete."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quarterhour" / name
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as place:
            new = Path(place) / name
            new.mkdir()
            fetch(new)
            try:
                new.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process was first
                    raise
    return folder


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a child process; by force if it takes too long."""
    process.terminate()
    try:
        process.wait(_STOPS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_line(log: Path) -> str:
    """Return the last line that a child process has written."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"
