"""The script that runs a stack for each of two issuers: each has its owner, its settings and the agencies' taxes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.repository import ROOT

SCRIPT = ROOT / "examples" / "two_issuers.py"
SAM = """#!/bin/sh
echo "$@" >> "$CALLS"
exit 3
"""


def variables(**more: str) -> dict[str, str]:
    """Return the environment of a person who has this repository's commands on the path."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'layers' / 'quarterhour'}",
        **more,
    }


@contextmanager
def two_stacks() -> Iterator[dict[str, str]]:
    """Run the script on free ports; give the addresses of its stacks by issuer."""
    command = [sys.executable, str(SCRIPT), "up", "--port", "0"]
    process = subprocess.Popen(command, env=variables(), text=True, stdout=subprocess.PIPE, start_new_session=True)  # noqa: S603
    try:
        found = {}
        for line in process.stdout or ():
            if line.startswith("Ctrl-C"):
                break
            name, _, url = line.strip().partition(": http")
            if url:
                found[name] = f"http{url}"
        yield found
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()
    assert process.returncode == 0


def read(url: str, path: str) -> Any:
    """Return the answer to a request."""
    answer = httpx.get(f"{url}{path}", timeout=60)
    answer.raise_for_status()
    return answer.json()


@pytest.mark.slow
def test_two_issuers_run_side_by_side_with_the_same_agencies() -> None:
    with two_stacks() as urls:
        assert [*urls] == ["de", "nl"]
        owners = {name: read(url, "/documents/owner")["content"]["country"] for name, url in urls.items()}
        assert owners == {"de": "DE", "nl": "NL"}
        prefixes = {name: read(url, "/documents/settings")["content"] for name, url in urls.items()}
        assert [prefixes[name]["statement_prefix"] for name in urls] == ["DE-S-", "NL-S-"]
        taxes = {
            (name, agency): read(url, f"/agencies/{agency}")["content"]["tax"]["scheme"]
            for name, url in urls.items()
            for agency in ("canal", "harbour")
        }
        assert taxes == {
            ("de", "canal"): "reverse_charge",
            ("de", "harbour"): "standard",
            ("nl", "canal"): "standard",
            ("nl", "harbour"): "reverse_charge",
        }
        sale = {"specversion": "1.0", "source": "shop", "type": "sale.recorded", "id": "1", "subject": "canal"}
        event = {**sale, "data": {"amount": "100.00", "currency": "EUR"}}
        headers = {"content-type": "application/cloudevents+json"}
        sent = httpx.post(f"{urls['nl']}/events", content=json.dumps(event), headers=headers, timeout=60)
        assert sent.json()["counts"] == {"recorded": 1}
        assert httpx.get(f"{urls['de']}/events/shop/1", timeout=60).status_code == 404


@pytest.mark.slow
def test_each_issuer_is_deployed_as_a_stage(tmp_path: Path) -> None:
    """The SAM CLI is called with the stage, and a failure ends it."""
    calls = tmp_path / "calls"
    sam = tmp_path / "sam"
    sam.write_text(SAM)
    sam.chmod(0o755)
    command = [sys.executable, str(SCRIPT), "deploy", "--sam", str(sam), "LedgerShards=4"]
    done = subprocess.run(command, env=variables(CALLS=str(calls)), check=False)  # noqa: S603
    assert done.returncode == 3
    names = "--stack-name quarterhour-de --s3-prefix quarterhour-de --tags project=quarterhour stage=de"
    own = "--parameter-overrides Stage=de LedgerShards=4"
    assert calls.read_text() == f"deploy --config-env prod {names} {own}\n"
