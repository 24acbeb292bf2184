"""The audit of the locked dependencies: it fails on what is known, and never claims an audit that did not happen."""

import json
import subprocess
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import pytest

from tests.support.repository import ROOT

CLEAN = {"name": "six", "version": "1.17.0", "vulns": []}
UNKNOWN = {"name": "boto3", "skip_reason": "Dependency not found"}
KNOWN = {"name": "old", "version": "1.0", "vulns": [{"id": "CVE-2020-1", "fix_versions": ["1.1"]}]}


def audit(monkeypatch: pytest.MonkeyPatch, *packages: dict[str, Any], error: str = "") -> int:
    """Run the script where pip-audit answers so, on two locks."""
    spec = spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec
    assert spec.loader
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    answer = subprocess.CompletedProcess([], 0, "" if error else json.dumps({"dependencies": packages}), error)
    monkeypatch.setattr(script.subprocess, "run", lambda *_, **__: answer)
    return int(script.main(["one.txt", "two.txt"]))


def test_what_is_known_to_be_vulnerable_fails_with_its_name_and_the_version_that_fixes_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(monkeypatch, CLEAN, KNOWN) == 1
    assert "one.txt: old 1.0 has CVE-2020-1, fixed in 1.1" in capsys.readouterr().out


def test_where_all_was_answered_nothing_more_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(monkeypatch, CLEAN) == 0
    assert capsys.readouterr().out == "one.txt: 1 of 1 packages audited\ntwo.txt: 1 of 1 packages audited\n"


def test_what_the_database_does_not_know_is_said_to_be_unaudited(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(monkeypatch, CLEAN, UNKNOWN) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("NOT AUDITED: 1 packages")


def test_a_database_out_of_reach_is_said_and_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(monkeypatch, error="Traceback\nrequests.exceptions.ProxyError: no route") == 0
    assert capsys.readouterr().out.startswith("NOT AUDITED: the database of vulnerabilities cannot be reached")


def test_a_tool_that_fails_for_another_reason_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="duplicate requirements"):
        audit(monkeypatch, error="ERROR: package boto3 has duplicate requirements")
