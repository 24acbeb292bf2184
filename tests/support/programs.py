"""Shell scripts in place of installed programs, such as ``node`` and ``npm``."""

import stat
from pathlib import Path


def program(folder: Path, name: str, script: str) -> None:
    """Write a shell script as a program into a folder."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IEXEC)
