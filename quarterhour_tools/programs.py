"""Programs that are not Python's: fetched once into a cache folder, and run as child processes."""

import os
import shutil
import subprocess  # nosec B404
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from quarterhour_tools.errors import ToolError

_STOPS_WITHIN: Final = 10.0
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


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


def fetch_with_maven(pom: str, folder: Path, what: str, otherwise: str = "", cache: Path | None = None) -> None:
    """Fetch the dependencies of a Maven project, and all that they need, into an empty folder.

    ``pom``: the project, as XML. ``cache``: a folder in place of Maven's own cache. Raises ``ToolError`` if that fails;
    it names ``what``, and what can be done ``otherwise``.
    """
    maven = shutil.which("mvn")
    if maven is None:
        alternative = f"; or {otherwise}" if otherwise else ""
        raise ToolError(f"{what} is fetched with Maven, and there is no mvn on the PATH{alternative}")
    file = folder.with_name("pom.xml")
    file.write_text(pom, encoding="utf-8")
    of_cache = [f"-Dmaven.repo.local={cache}"] if cache else []
    ended = subprocess.run(  # noqa: S603 - our own arguments  # nosec B603
        [maven, "-q", "-B", "-f", str(file), *of_cache, _COPY, f"-DoutputDirectory={folder}", "-DincludeScope=runtime"],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        first = next((line for line in ended.stdout.splitlines() if "ERROR" in line), "no reason given")
        raise ToolError(f"Maven could not fetch {what}: {first}")


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
