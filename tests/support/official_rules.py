"""What official rules find in electronic invoices: EN 16931 in XML, PDF/A-3a in PDF. Java runs them."""

import shutil
import subprocess
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from quarterhour_tools import programs
from quarterhour_tools.errors import ToolError

JAVA: Final = Path(__file__).parent / "java"
WHAT: Final = "the official rules of invoices"


class Finding(NamedTuple):
    """What a rule finds in a file."""

    file: str
    rule: str
    message: str


def findings(files: Iterable[Path]) -> list[Finding]:
    """Return what the rules find in XML and PDF files; warnings too.

    Raises ``ToolError`` if Java's compiler, Maven or an artifact is missing, or an artifact differs from its hash.
    """
    java = shutil.which("java")
    if java is None or shutil.which("javac") is None:
        raise ToolError(f"{WHAT} need Java 17 with its compiler, and there is none on the PATH")
    locked = (JAVA / "SHA256SUMS").read_text("utf-8")
    libraries = programs.fetched(f"official-rules-{sha256(locked.encode()).hexdigest()[:16]}", _fetch)
    command = [java, "-cp", f"{libraries}/*", str(JAVA / "OfficialRules.java"), *map(str, files)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own
    *lines, last = ended.stdout.splitlines()
    assert last == "done", ended.stdout
    return [Finding(*line.split("\t", 2)) for line in lines]


def _fetch(folder: Path) -> None:
    """Fetch the rules into an empty folder; raise ``ToolError`` if a file is not the one that is locked."""
    programs.fetch_with_maven((JAVA / "pom.xml").read_text("utf-8"), folder, WHAT)
    locked = dict(line.split()[::-1] for line in (JAVA / "SHA256SUMS").read_text("utf-8").splitlines())
    fetched = {file.name: sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    if fetched != locked:
        different = sorted(name for name, _ in fetched.items() ^ locked.items())
        raise ToolError(f"{WHAT}: these files are not the ones in SHA256SUMS: {', '.join(dict.fromkeys(different))}")
