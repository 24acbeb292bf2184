"""The command line's manners: help, errors as one clear line, exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest

from local.cli import main


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.strip()


@pytest.mark.parametrize("command", ["up", "replay", "verify", "csv", "rerate"])
def test_each_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    assert len(capsys.readouterr().out) > 200


def test_it_leaves_to_the_functions_what_reads_their_environment() -> None:
    told = "import sys, local.cli; print('quarterhour.telemetry' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)  # noqa: S603
    assert ended.stdout.strip() == "False"


@pytest.mark.parametrize("arguments", [[], ["no-such"], ["replay"], ["replay", "x", "--parameter", "novalue"]])
def test_what_is_misused_shows_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage: quarterhour" in said(capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "no-such-file"], "no-such-file: No such file or directory"),
        (["replay", "FILE", "--batch", "0"], "--batch must lie between 1 and 500"),
        (["replay", "FILE", "--out", "FULL"], "is not empty: name a new folder"),
        (
            ["replay", "FILE", "--rate", "rate(1 minute)"],
            "ReportRate cannot be 'rate(1 minute)': rate(N minutes) with N from 15",
        ),
        (["replay", "FILE", "--parameter", "Shards=1"], "the template has no parameter Shards"),
        (["replay", "FILE", "--engine", "oracle"], "'oracle' is no engine"),
        (["verify", "no-such-folder"], "no-such-folder is no folder"),
    ],
)
def test_an_error_is_one_clear_line_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "events").write_text("")
    places = {"FILE": str(tmp_path / "events"), "FULL": str(tmp_path)}
    assert main([places.get(one, one) for one in arguments]) == 2
    told = said(capsys)
    assert told.startswith("quarterhour: ")
    assert message in told
    assert len(told.splitlines()) == 1


def test_a_folder_without_a_manifest_proves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path)]) == 1
    assert "holds no manifest" in said(capsys)
