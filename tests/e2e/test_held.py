"""Held events on the command line: listed, released, discarded, on an emulator and on a deployed stack."""

import io
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from quarterhour_tools.cli import main
from tests.e2e.test_rerate import serving
from tests.support.events import refund, sale, void
from tests.support.requests import post, verdicts
from tests.support.system import World, opened
from tests.support.tables import ledger

OPERATOR = "arn:aws:iam::123456789012:user/ann"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Three held events of two agencies; the console is wide enough for the table."""
    monkeypatch.setenv("COLUMNS", "240")
    monkeypatch.setattr("getpass.getuser", lambda: "bob")
    with opened() as deployed:
        events = [refund("r1", "-2"), void("v1", "none"), refund("r2", "-3", of="none", agency="7")]
        assert verdicts(post(deployed, events)) == ["held"] * 3
        yield deployed


def rows(out: str) -> list[list[str]]:
    """Return the cells of the rows of a printed table."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]


def test_held_events_are_listed_by_reason_and_agency(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(world) as url:
        listed = ["held", "list", "--url", url]
        assert main(listed) == 0
        out = capsys.readouterr().out
        assert sorted(row[2] for row in rows(out)) == ["r1", "r2", "v1"]
        assert [row[1:] for row in rows(out) if row[2] == "r1"] == [
            ["shop", "r1", "sale.refunded", "42", "GBP", "-2", "unknown_sale", "data.refers_to is no recorded sale yet"]
        ]
        assert "3 events held" in out
        assert main([*listed, "--agency", "7"]) == 0
        assert [row[2] for row in rows(capsys.readouterr().out)] == ["r2"]
        assert main([*listed, "--reason", "unregistered_agency"]) == 0
        assert "0 events held" in capsys.readouterr().out


def test_a_narrow_terminal_cuts_no_id(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert verdicts(post(world, [refund("order-2026-10-23-0017:refund-of-line-3", "-2")])) == ["held"]
    with serving(world) as url:
        assert main(["held", "list", "--url", url]) == 0
        assert "order-2026-10-23-0017:refund-of-line-3" in "".join(row[2] for row in rows(capsys.readouterr().out))


def test_an_operator_releases_one_and_discards_another_with_name_and_reason(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(world) as url:
        assert main(["held", "release", "shop", "r1", "--reason", "in the old system", "--url", url]) == 0
        assert "shop r1: released; 1 held event posted now" in capsys.readouterr().out
        assert main(["held", "discard", "shop", "r2", "--reason", "sent by a test", "--url", url]) == 0
        assert "shop r2: discarded" in capsys.readouterr().out
        assert main(["held", "list", "--discarded", "--url", url]) == 0
        ((held_at, *row),) = rows(capsys.readouterr().out)
    assert [(item["id"], item.get("refers_to")) for item in ledger(world)] == [("r1", None)]
    assert row[:2] == ["shop", "r2"]
    assert row[-1].startswith("discarded by bob at ")
    assert row[-1].endswith(": sent by a test")
    assert held_at
    assert verdicts(post(world, [sale("none", agency="7"), refund("r2", "-3", of="none", agency="7")])) == [
        "recorded",
        "rejected",
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["release", "shop", "v1"], "says nothing without its unknown sale: discard it"),
        (["release", "shop", "r9"], "no event 'shop#r9' is held"),
        (["discard", "till", "r1"], "no event 'till#r1' is held"),
    ],
)
def test_a_decision_that_cannot_be_carried_out_is_an_error_with_the_reason(
    world: World, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    with serving(world) as url:
        assert main(["held", *arguments, "--reason", "a try", "--url", url]) == 2
    assert reason in capsys.readouterr().err
    assert ledger(world) == []
    assert len(world.read("/held")["items"]) == 3


class Aws:
    """Stands for the clients of AWS: a stack with its functions, and the identity of the operator."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.invoked: list[str] = []

    def client(self, service: str, **_: object) -> Any:
        assert service in {"cloudformation", "lambda", "sts"}
        return self

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803 - AWS's own
        assert StackName == "quarterhour-dev"
        outputs = {f"{name}FunctionName": f"quarterhour-dev-{name.lower()}" for name in ("Repair", "Watch")}
        return {"Stacks": [{"Outputs": [{"OutputKey": key, "OutputValue": name} for key, name in outputs.items()]}]}

    def invoke(self, FunctionName: str, Payload: str) -> Any:  # noqa: N803 - AWS's own
        self.invoked.append(FunctionName)
        answer = self._world.stack.invoke(FunctionName.removeprefix("quarterhour-dev-"), json.loads(Payload))
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def get_caller_identity(self) -> Any:
        return {"Arn": OPERATOR}


def test_a_decision_about_an_event_of_a_deployed_stack_carries_the_operators_iam_identity(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = Aws(world)
    monkeypatch.setattr(boto3, "client", aws.client)
    stack = ["--reason", "in the old system", "--stack", "quarterhour-dev"]
    assert main(["held", "release", "shop", "r1", *stack]) == 0
    assert "shop r1: released; 1 held event posted now" in capsys.readouterr().out
    assert main(["held", "discard", "shop", "v1", *stack]) == 0
    assert aws.invoked == ["quarterhour-dev-repair", "quarterhour-dev-watch", "quarterhour-dev-repair"]
    (discarded,) = world.read("/held", status="discarded")["items"]
    assert (discarded["id"], discarded["discarded"]["by"]) == ("v1", OPERATOR)
    assert [item["id"] for item in ledger(world)] == ["r1"]
