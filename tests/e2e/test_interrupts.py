"""A command that is interrupted says so in one line, whenever the signal comes."""

import json
import os
import signal
import subprocess
import sys
import tomllib

import pytest

from quarterhour_tools.entry import main
from tests.e2e.sales import event
from tests.support.repository import ROOT

pytestmark = pytest.mark.slow

SIGNALS = [signal.SIGINT, signal.SIGTERM]
RUN = "import sys; from quarterhour_tools.entry import main; sys.exit(main())"
EARLY = """
import os, sys
number = int(sys.argv.pop())
class Signalling:
    def find_spec(self, name, path=None, target=None):
        if name == "botocore":
            os.kill(os.getpid(), number)
sys.meta_path.insert(0, Signalling())
from quarterhour_tools.entry import main
sys.exit(main())
"""
INTERRUPTED = "quarterhour: interrupted\n"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_right_after_the_start_is_one_line(number: signal.Signals) -> None:
    command = [sys.executable, "-c", EARLY, "verify", ".", str(int(number))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", INTERRUPTED)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_during_a_replay_is_one_line(number: signal.Signals) -> None:
    command = [sys.executable, "-c", RUN, "replay", "-"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as running:  # noqa: S603 - our own
        assert running.stdin
        assert running.stderr
        running.stdin.write(json.dumps(event(1)) + "\nno json\n")
        running.stdin.flush()
        assert "unread" in running.stderr.readline(), "it waits for more lines now"
        os.kill(running.pid, number)
        said = running.stderr.read()
    assert (running.returncode, said) == (130, INTERRUPTED)


def test_the_installed_command_begins_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["scripts"]["quarterhour"] == f"{main.__module__}:{main.__name__}"
