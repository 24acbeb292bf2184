"""What released versions wrote, and stacks that a release deployed and filled, updated to today's code."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from quarterhour.model.clock import ManualClock, parse_iso, using
from quarterhour_tools.emulator.engines import MOTO, open_engine
from quarterhour_tools.emulator.stack import TEMPLATE, Stack
from quarterhour_tools.emulator.template import Template
from tests.support.repository import ROOT
from tests.support.system import World

Json = dict[str, Any]
Item = dict[str, dict[str, Any]]

TABLES: Final = {"IdentityTable": "identity", "LedgerTable": "ledger", "EntityTable": "entity"}
_AT_ONCE: Final = 25


@dataclass(frozen=True)
class Release:
    """What the code of one version wrote; see the README of its folder."""

    version: str

    @property
    def folder(self) -> Path:
        """The folder of the dump."""
        return ROOT / "tests" / "released" / self.version

    @cached_property
    def expected(self) -> Json:
        """The instant of the dump, the parameters, and the answers of the release."""
        found: Json = json.loads((self.folder / "expected.json").read_text("utf-8"))
        return found

    @cached_property
    def history(self) -> list[Json]:
        """Everything that was done before the dump."""
        return self.lines("history")

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The objects of the bucket."""
        bucket = self.folder / "bucket"
        return {file.relative_to(bucket).as_posix(): file.read_bytes() for file in bucket.rglob("*") if file.is_file()}

    @cached_property
    def resources(self) -> Json:
        """The lasting resources of the release's template, as CloudFormation has made them."""
        path = ROOT / "tests" / "template" / "released" / f"{self.version}.json"
        found: Json = json.loads(path.read_text("utf-8"))["resources"]
        return found

    def lines(self, name: str) -> list[Json]:
        """Return what a file of JSON lines holds; nothing, if the release has no such file."""
        path = self.folder / f"{name}.ndjson"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def sent(self) -> Iterator[tuple[Json, Json]]:
        """Yield the events that were sent and answered, with the item of the answer."""
        for step in self.history:
            if step["do"] == "POST /events" and "answer" in step:
                yield from zip(step["body"], step["answer"]["items"], strict=True)

    def recorded(self) -> Iterator[tuple[Json, dict[str, str]]]:
        """Yield the events that a request recorded, and their receipts."""
        for event, item in self.sent():
            if item["verdict"] == "recorded":
                yield event, item["receipt"]

    @cached_property
    def died(self) -> dict[str, Json]:
        """The events by id whose request died after the claim."""
        steps = (step for step in self.history if step["do"] == "POST /events" and "died" in step)
        return {event["id"]: event for step in steps for event in step["body"]}

    def claimed(self, id_: str) -> dict[str, str]:
        """Return the partition and the position that an event of the shop has claimed."""
        (claim,) = [one for one in self.lines("identity") if one["event"]["S"] == f"shop#{id_}"]
        return {"partition": claim["quarter_hour"]["S"], "position": claim["position"]["S"]}


class UpdatedStack(Stack):
    """A stack of today's code on the tables that a release's template made.

    They stay as they were made: what an update of the tables may change is for the tests of the template.
    """

    def __init__(self, template: Template, engine: Any, release: Release) -> None:
        self._release = release
        super().__init__(template, engine, expires=False)
        self._load()

    def _create_tables(self, *, expires: bool) -> None:
        today = self.template
        made_now = today.deployed("AWS::DynamoDB::Table").items()
        tables = {name: {"Type": "AWS::DynamoDB::Table", "Properties": properties} for name, properties in made_now}
        for name in TABLES:
            made = self._release.resources[name]
            tables[name] = {**made, "Properties": {**made["Properties"], "BillingMode": "PAY_PER_REQUEST"}}
        self.template = Template({"Resources": tables}, ROOT)
        super()._create_tables(expires=expires)
        self.template = today

    def _load(self) -> None:
        """Write the released items, objects and parked messages."""
        for table, name in TABLES.items():
            puts = [{"PutRequest": {"Item": item}} for item in self._release.lines(name)]
            for first in range(0, len(puts), _AT_ONCE):
                self.dynamodb.batch_write_item(RequestItems={self.ref(table): puts[first : first + _AT_ONCE]})
        for key, content in self._release.files.items():
            self.engine.s3().put_object(Bucket=self.ref("ReportBucket"), Key=key, Body=content)
        for message in self._release.lines("parked"):
            self.engine.sqs().send_message(QueueUrl=self.ref(message["queue"]), MessageBody=message["body"])


@contextmanager
def updated(release: Release, stage: str, own: Mapping[str, str] | None = None) -> Iterator[World]:
    """Update a stack of a release to today's code, at the instant of the dump; ``own``: further parameters."""
    clock = ManualClock(parse_iso(release.expected["at"]))
    with using(clock), open_engine(MOTO) as engine:
        parameters: dict[str, str | int] = {
            "Stage": f"{stage}-{release.version.replace('.', '-')}",
            "MaxConcurrency": 1,
        }
        template = Template.load(TEMPLATE, {**parameters, **release.expected["parameters"], **(own or {})})
        stack = UpdatedStack(template, engine, release)
        try:
            yield World(stack, clock)
        finally:
            stack.drop()
