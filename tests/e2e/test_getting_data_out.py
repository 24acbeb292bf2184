"""Every command of the page "Getting data out" runs, and the receiver prints what the page shows."""

import re
import shutil
import socket
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.test_getting_data_in import BLOCK, clone, run, running
from tests.support.repository import ROOT

__all__ = ["clone"]

PAGE: Final = (ROOT / "docs" / "getting-data-out.md").read_text("utf-8")
UP: Final = "quarterhour up"
STOPS: Final = "hook=$!\ntrap 'kill $hook' EXIT\nsleep 1\n"
ARRIVES: Final = """
for _ in $(seq 60); do
  curl -s $URL/subscriptions/erp/deliveries | grep -q delivered && break
  sleep 0.25
done
"""


def free_port() -> int:
    """Return a port of this machine that nobody uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.mark.slow
def test_the_commands_of_the_page_deliver_a_webhook(clone: Path) -> None:
    if not shutil.which("curl"):
        pytest.skip("the page's requests were not sent: there is no curl")
    shutil.copytree(ROOT / "examples" / "getting_data_out", clone / "examples" / "getting_data_out")
    port, hook = free_port(), free_port()
    page = PAGE.replace("127.0.0.1:8080", f"127.0.0.1:{port}").replace("9000", str(hook))
    blocks = BLOCK.findall(page)
    assert len(blocks) == 5, "each block below is one of the page"
    (start, _), (create, _), (receive, _), (send, shown), (look, _) = blocks
    (with_bus,) = re.findall(r"`(quarterhour up --parameter [^`]*)`", page)
    own = f"{with_bus.replace(UP, f'{UP} --port {port}')} --local-receivers"
    with running(start.replace(f"{UP} --local-receivers", own), clone):
        output = run(f"{create}{receive}{STOPS}{send}{ARRIVES}{look}", clone)
        of_bus = run(f"curl -s http://127.0.0.1:{port}/subscriptions/bus/deliveries", clone)
    assert shown.strip() in output
    assert '"outcome": "delivered"' in output
    assert '"status": "active"' in output, "the replay was taken"
    assert '"type": "event.held"' in of_bus
