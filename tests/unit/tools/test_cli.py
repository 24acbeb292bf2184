"""The command line: help, errors as one clear line, exit codes."""

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from quarterhour_tools.cli import COMMANDS, command, main
from quarterhour_tools.demo import command as demo
from quarterhour_tools.replay import command as replay
from tests.support.builders import utc
from tests.support.sealing import Objects, cover_up, edit, line, seal


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.strip()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    explained = " ".join(capsys.readouterr().out.split())
    module = command(name)
    assert name == module.NAME
    assert explained.startswith(f"usage: quarterhour {name} ")
    assert module.DESCRIPTION.partition(":")[0] in explained


def test_all_commands_are_listed_with_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    assert left.value.code == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert all(f" {name} {line}" in listed for name, (_, line) in COMMANDS.items())
    with pytest.raises(SystemExit):
        main(["unknown"])
    assert "invalid choice: 'unknown'" in capsys.readouterr().err


def test_the_list_of_commands_and_an_error_load_no_command_and_no_client() -> None:
    code = "import sys; sys.argv = ['quarterhour', sys.argv[1]]; from quarterhour_tools.cli import main\n"
    code += "try: main()\nexcept SystemExit: print(*sys.modules)"
    for argument in ("--help", "unknown"):
        ended = subprocess.run(  # noqa: S603 - our own
            [sys.executable, "-c", code, argument], capture_output=True, text=True, check=True
        )
        loaded = set(ended.stdout.split())
        assert not loaded & {"botocore", "boto3", "rich", "moto", "aws_lambda_powertools"}
        assert len({one for one in loaded if one.startswith("quarterhour_tools.")}) == 2


NO_ADDRESSES = (
    "127.0.0.1:8080", "file:", "file:///etc/passwd", "javascript:", "http://", "http://[::1", "http://[x]",
    "http://127.0.0.1:99999", "http://127.0.0.1:0", "http://127.0.0.1:x", "http://\uff41nn:8080", "http://a..b",
    "http://127.0.0.1:8080\n", "http://a\tb", "http://a b", " http://127.0.0.1:8080", "http://bücher.example", "",
)  # fmt: skip


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_an_address_to_which_no_request_can_be_sent_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["statements", "--url", url]) == 2
    message = said(capsys)
    assert message.startswith("quarterhour: --url is ")
    assert message.endswith("expected an address such as http://127.0.0.1:8080")


@pytest.mark.parametrize(
    "command",
    [
        ["statements"],
        ["unpark"],
        ["reseal", "2026-11"],
        ["rebuild", "--all"],
        ["held", "list"],
        ["held", "release", "s", "i", "--reason", "r"],
        ["held", "discard", "s", "i", "--reason", "r"],
        ["rerate", "--from", "2026-10-01", "--to", "2026-10-02", "--agency", "42", "--rate-card", "FILE"],
        ["import", "FILE"],
        ["send", "FILE"],
        ["rates", "FILE"],
        ["rate-cards", "FILE"],
        ["agencies", "FILE"],
    ],
)
def test_each_command_for_a_stack_checks_its_address(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--url", "http://127.0.0.1:99999"]) == 2
    assert "--url is 'http://127.0.0.1:99999'" in said(capsys)


def test_the_command_line_does_not_import_modules_that_read_the_environment() -> None:
    code = "import sys, quarterhour_tools.cli; print('quarterhour.aws.telemetry' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert ended.stdout.strip() == "False"


@pytest.mark.parametrize("arguments", [[], ["no-such"], ["replay"], ["replay", "x", "--parameter", "novalue"]])
def test_invalid_arguments_show_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage: quarterhour" in said(capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "no-such-file"], "no-such-file: No such file or directory"),
        (["replay", "FILE", "--batch", "0"], "--batch must be between 1 and 500"),
        (["replay", "FILE", "--out", "FULL"], "is not empty: name a new folder"),
        (
            ["replay", "FILE", "--rate", "rate(1 minute)"],
            "ReportRate cannot be 'rate(1 minute)': rate(N minutes) with N from 15",
        ),
        (["replay", "FILE", "--parameter", "Shards=1"], "the template has no parameter Shards"),
        (["replay", "FILE", "--engine", "oracle"], "'oracle' is not an engine"),
        (["verify", "no-such-folder"], "no-such-folder is not a folder"),
        (["up", "--port", "0", "--sign-in", "--host", "127.0.0.2"], "--sign-in works on 127.0.0.1 only"),
        (
            ["up", "--port", "0", "--sign-in", "--parameter", "JwtIssuer=https://a.example"],
            "--sign-in sets the parameter JwtIssuer: leave out --parameter JwtIssuer",
        ),
        (["up", "--demo", "--engine", "dynamodb-local"], "--demo needs the engine embedded: leave out --engine"),
        (["up", "--demo", "--rate", "rate(1 hour)"], "--demo sets the parameter ReportRate: leave it out"),
    ],
)
def test_an_error_is_one_clear_line_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "events").write_text("")
    places = {"FILE": str(tmp_path / "events"), "FULL": str(tmp_path)}
    assert main([places.get(one, one) for one in arguments]) == 2
    line = said(capsys)
    assert line.startswith("quarterhour: ")
    assert message in line
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("command", [["replay", "FILE"], ["demo"]])
def test_a_command_that_could_not_write_its_files_does_no_work(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr(replay, "open_stack", never)
    monkeypatch.setattr(demo, "open_stack", never)
    events = tmp_path / "events"
    events.write_text("")
    arguments = [str(events) if one == "FILE" else one for one in command]
    assert main([*arguments, "--out", str(events / "out")]) == 2
    assert "Not a directory" in said(capsys)


def test_a_folder_without_a_manifest_proves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path)]) == 1
    assert "holds no manifest" in said(capsys)


def written(objects: Objects, folder: Path) -> str:
    """Write sealed reports into a folder; return its name."""
    for key, content in objects.items():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(content)
    return str(folder)


def test_an_identity_may_be_sealed_again_once_the_deployment_has_forgotten_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects: Objects = {}
    run = seal(objects, "202610230130", "202610230130", [line(utc("01:30"), "a")], ("", ""))
    again = line(utc("01:45") + timedelta(days=2), "a")
    seal(objects, "202610230145", "202610250145", [again], run)
    sealed = written(objects, tmp_path)
    assert main(["verify", sealed]) == 1
    assert "shop#a was sealed before" in said(capsys)
    assert main(["verify", sealed, "--dedup-retention-days", "3"]) == 1
    assert main(["verify", sealed, "--dedup-retention-days", "2"]) == 0


@pytest.mark.parametrize("days", ["-1", "1.5", "soon", "1000000"])
def test_a_retention_that_is_none_shows_the_usage(days: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["verify", ".", "--dedup-retention-days", days])
    assert left.value.code == 2
    assert "expected a number of days" in said(capsys)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_control_characters_of_a_manifest_are_escaped(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects: Objects = {}
    bad = "\x1b[2J\x9b\ud800[red]"
    seal(objects, "202610230130", "202610230130", [line(utc("01:30"), "a", account=f"{bad[:-6]}#GBP")], ("", ""))
    manifest = "reports/2026/10/23/0130-0145/manifest.json"
    edit(objects, manifest, lambda document: document.update(run=bad, lines=bad))
    cover_up(objects)
    assert main(["verify", written(objects, tmp_path), *options]) == 1
    shown = capsys.readouterr()
    assert all(one.isprintable() for one in (shown.out + shown.err).replace("\n", ""))
    assert r"\x1b[2J\x9b\ud800[red]" in shown.err
    if options:
        assert json.loads(shown.out)["proven"] is False


def test_a_manifest_that_is_a_link_out_of_the_folder_is_a_problem_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects: Objects = {}
    seal(objects, "202610230130", "202610230130", [line(utc("01:30"), "a")], ("", ""))
    sealed = Path(written(objects, tmp_path / "sealed"))
    manifest = "reports/2026/10/23/0130-0145/manifest.json"
    (sealed / manifest).rename(tmp_path / "elsewhere")
    (sealed / manifest).symlink_to(tmp_path / "elsewhere")
    assert main(["verify", str(sealed)]) == 1
    assert f"{manifest}: lies outside the folder" in said(capsys)
