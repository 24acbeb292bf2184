"""`quarterhour rebuild`: it invokes the repair function until the rebuild has ended, and prints what was repaired."""

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.operations import rebuild as command

EXECUTION = "arn:aws:states:eu-west-1:123456789012:execution:quarterhour-dev-rebuilding:2026-10-23-2026-11-03-1f"


def result(days: int, repaired: int, next_: str | None = None, execution: str | None = None) -> dict[str, Any]:
    return {"days": days, "accounts": 2, "repaired": repaired, "next": next_, "execution": execution}


def rebuild(monkeypatch: pytest.MonkeyPatch, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run the command against a function that answers so; return the events that it was sent."""
    sent: list[dict[str, Any]] = []

    def invoke(_args: Namespace, function: str, event: dict[str, Any]) -> dict[str, Any]:
        assert function == "Repair"
        sent.append(dict(event))
        return answers[len(sent) - 1]

    monkeypatch.setattr(command, "invoke", invoke)
    parser = ArgumentParser()
    command.configure(parser)
    args = parser.parse_args(["42#GBP", "--stack", "quarterhour-dev"])
    with using(ManualClock(datetime(2026, 11, 3, tzinfo=UTC))):
        assert command.run(args) == 0
    assert len(sent) == len(answers)
    return sent


def test_many_days_are_followed_until_their_execution_has_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running = result(0, 0, execution=EXECUTION)
    sent = rebuild(monkeypatch, [running, running, running, result(12, 5)])
    follow = {"action": "follow", "execution": EXECUTION}
    assert sent == [{"action": "rebuild", "account": "42#GBP"}, follow, follow, follow]
    first, last = capsys.readouterr().out.splitlines()
    assert EXECUTION in first
    assert last == "12 days and 2 accounts checked, 5 counters repaired"


def test_a_rebuild_goes_on_with_the_days_that_are_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = rebuild(monkeypatch, [result(3, 4, "2026-10-26"), result(2, 1)])
    assert sent[1] == {"action": "rebuild", "account": "42#GBP", "from": "2026-10-26"}
    assert capsys.readouterr().out.splitlines()[-1] == "5 days and 2 accounts checked, 5 counters repaired"
