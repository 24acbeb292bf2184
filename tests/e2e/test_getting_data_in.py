"""Every command of the page "Getting data in" runs with the files that it names, and prints what the page shows."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support.repository import ROOT

PAGE: Final = (ROOT / "docs" / "getting-data-in.md").read_text("utf-8")
FOLDER: Final = "examples/getting_data_in"
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
UP: Final = "quarterhour up"
ADDRESS: Final = "http://127.0.0.1:8080"
READING: Final = "curl -s $URL"
SOME_SECONDS: Final = 20
"""How long the counters may take after the last event."""


class Block(NamedTuple):
    """Commands of the page, and what it shows of their output."""

    commands: str
    shown: str


BLOCKS: Final = [Block(commands, shown) for commands, shown in BLOCK.findall(PAGE)]


def matches(shown: str, output: str) -> bool:
    """Return whether an output is what a page shows, where ``…`` stands for anything; blanks at line ends are free."""
    lines = [line.rstrip() for line in output.strip().splitlines()]
    parts = (re.escape("\n".join(line.rstrip() for line in part.split("\n"))) for part in shown.strip().split("…"))
    return re.fullmatch(".*".join(parts), "\n".join(lines), re.DOTALL) is not None


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with what the page needs of a clone: its examples, and its environment."""
    shutil.copytree(ROOT / FOLDER, tmp_path / FOLDER)
    activate = tmp_path / ".venv" / "bin" / "activate"
    activate.parent.mkdir(parents=True)
    activate.write_text(f'PATH="{Path(sys.executable).parent}:$PATH"\n')
    return tmp_path


def shell(script: str, folder: Path) -> subprocess.Popen[str]:
    """Start a script as a person at a terminal would, with the code of this repository."""
    variables = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'layers' / 'quarterhour'}",
        "LANG": "C.UTF-8",
    }
    return subprocess.Popen(  # noqa: S603 - the page's own commands
        ["/bin/sh", "-euc", script],
        cwd=folder,
        env=variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@contextmanager
def running(script: str, folder: Path) -> Iterator[None]:
    """Run a script that ends with ``quarterhour up``, until the end of the block."""
    first, _, last = script.strip().rpartition("\n")
    process = shell(f"{first}\nexec {last}", folder)
    assert process.stdout
    try:
        for line in process.stdout:
            if "Ctrl-C" in line:
                break
        assert process.poll() is None
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def run(script: str, folder: Path) -> str:
    """Return what a script prints; it must succeed."""
    process = shell(script, folder)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    return output


@pytest.mark.slow
def test_every_command_of_the_page_does_what_the_page_shows(clone: Path) -> None:
    if not shutil.which("curl"):
        pytest.skip("the page's requests were not sent: there is no curl")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start, second, *rest = BLOCKS
    assert UP in start.commands
    terminal = second.commands.replace(ADDRESS, ADDRESS.replace("8080", str(port)))
    assert terminal != second.commands
    with running(start.commands.replace(UP, f"{UP} --port {port}"), clone):
        for block in rest:
            script = f"{terminal}\n{block.commands}"
            output = run(script, clone)
            end = time.monotonic() + SOME_SECONDS
            while READING in block.commands and not matches(block.shown, output) and time.monotonic() < end:
                output = run(script, clone)
            assert matches(block.shown, output), f"{block.commands}\n{output}"


def test_every_command_and_file_of_the_choice_is_in_a_section_and_there() -> None:
    table = PAGE.partition("## Start")[0]
    commands = " ".join(block.commands for block in BLOCKS)
    chosen = re.findall(r"`(quarterhour [^`]+)`", table)
    assert len(chosen) > len({one.split()[1] for one in chosen}) > 3
    for command in chosen:
        assert command in commands, command
    for section in re.findall(r"\]\(#([^)]+)\)", table):
        assert section in {re.sub(r" ", "-", title.lower()) for title in re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)}
    made = set(re.findall(r" > (\S+)", commands))
    for name in set(re.findall(r"\b[\w-]+\.(?:csv|toml|ndjson)\b", commands)) - made:
        assert (ROOT / FOLDER / name).is_file(), name


@pytest.mark.parametrize(
    ("shown", "output", "expected"),
    [
        ("a\nb\n", "a  \nb\n", True),
        ("a … c", "a b\nb c", True),
        ("a\n…\n", "a\nb\nc\n", True),
        ("a\nb", "a\nc", False),
        ("a", "a\nb", False),
    ],
)
def test_what_is_shown_is_compared_with_all_of_an_output(shown: str, output: str, expected: bool) -> None:  # noqa: FBT001
    assert matches(shown, output) is expected
