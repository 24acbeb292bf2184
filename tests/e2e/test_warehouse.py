"""The warehouse's nights on Trino: every sealed line is in the Iceberg table exactly once, whatever happens."""

import io
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from quarterhour.model.clock import iso_millis
from quarterhour.reports.keys import part_of_lines
from quarterhour.reports.lines import read_lines
from quarterhour_tools.emulator.direct import REGION
from tests.support.athena import Athena, answering, named_queries
from tests.support.sealing import line, seal
from tests.support.trino import Trino
from tests.support.warehouse import Warehouse

pytestmark = pytest.mark.slow

SINCE_FEBRUARY = "'2026-02-01'"
ONLY_NEW = "''"
ROLE = "arn:aws:iam::123456789012:role/warehouse"
LOCK = {"pk": {"S": "WAREHOUSE"}, "sk": {"S": "lock"}}
MONEY = ("amount", "commission_rate", "commission", "quantity", "unit_price")
ODD = [
    {"product": 'a "quoted", one', "customer": "back\\", "extra": '{"path":"C:\\\\x\\\\","said":"\\"hi\\""}'},
    {"product": "=1+1", "customer": "'", "reason": "'=1", "category": "\\"},
    {"product": '"', "customer": '\\"', "location": "Köln, Rhein", "extra": '{"a":"\\"\\\\"}'},
    {"source": "shop;2", "amount": "12345678901234567890.123456789012345678", "commission": "0.000000000000000001"},
    {"type": "payment.recorded", "commission_rate": "0", "commission": "0"},
    {"unit_price": "0.1234567890123456789", "quantity": "3"},
]
"""Texts that a reader of CSV may take for something else, and the largest and smallest amounts."""


class Files:
    """A folder of sealed files, with the lines that they hold."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._previous = ("", "")

    def seal(self, first: str, last: str, postings: list[dict[str, str]], **how: Any) -> str:
        """Seal a run; return its name."""
        objects: dict[str, bytes] = {}
        self._previous = seal(objects, first, last, postings, self._previous, **how)
        for key, content in objects.items():
            file = self.folder / key
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return self._previous[0]

    def lines(self) -> Iterator[Mapping[str, str]]:
        """Yield all sealed lines, as the product reads them."""
        for file in sorted(self.folder.glob("ledger/**/*.gz")):
            assert part_of_lines(file.relative_to(self.folder).as_posix())
            yield from read_lines(io.BytesIO(file.read_bytes()))


def postings(day: str, count: int, *details: dict[str, str]) -> list[dict[str, str]]:
    """Return the postings of a quarter of an hour from 01:30 on, of two accounts."""
    start = datetime.fromisoformat(f"{day}T01:30:00+00:00")
    made = []
    for number in range(count):
        at = start + timedelta(milliseconds=number)
        account, amount = ("42#GBP", "12.50") if number % 3 else ("Café, Lumière#EUR", "-3.25")
        more = details[number] if number < len(details) else {"order_id": f"o-{number % 40}"}
        made.append(
            line(at, f"{day}-{number}", **{"recorded_at": iso_millis(at), "amount": amount, "account": account, **more})
        )
    return made


def as_typed(sealed: Mapping[str, str], columns: list[str]) -> tuple[object, ...]:
    """Return a sealed line as a row of the table."""
    quarter_hour, _, shard = sealed["quarter_hour"].partition("#")
    typed: dict[str, object] = {name: text or None for name, text in sealed.items()}
    for name in MONEY:
        text = sealed.get(name)
        fits = text and len(text.partition(".")[2]) <= 18
        typed[name] = Decimal(text) if text and fits else None
    typed |= {"quarter_hour": quarter_hour, "shard": int(shard)}
    typed["recorded_on"] = date.fromisoformat(sealed["recorded_at"][:10])
    typed["period"] = sealed.get("period") or sealed["recorded_at"][:7]
    return tuple(typed.get(name) for name in columns)


class Nights:
    """The deployed machine in moto, whose queries a warehouse on Trino runs."""

    def __init__(self, warehouse: Warehouse) -> None:
        self.warehouse = warehouse
        self._names = count()
        self._states = boto3.client("stepfunctions", region_name=REGION)
        self._dynamodb = boto3.client("dynamodb", region_name=REGION)
        template = warehouse.template
        self._entity = "entity"
        key = [("pk", "HASH"), ("sk", "RANGE")]
        self._dynamodb.create_table(
            TableName=self._entity,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name, _ in key],
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in key],  # type: ignore[typeddict-item]
            BillingMode="PAY_PER_REQUEST",
        )
        ids = named_queries(warehouse)

        def attribute(resource: str, _: str) -> str:
            return self._entity if resource == "EntityTable" else ids.get(resource, resource)

        properties = template.deployed("AWS::StepFunctions::StateMachine")["WarehouseMachine"]
        definition = json.loads(template.resolve(properties["DefinitionString"], attribute))
        # Athena ends a query after half an hour; here none runs on.
        assert definition["States"]["WaitForItsQuery"].pop("Seconds") > 1800
        definition["States"]["WaitForItsQuery"]["Seconds"] = 0
        self._machine = self._states.create_state_machine(
            name="warehouse", definition=_without_delays(json.dumps(definition)), roleArn=ROLE
        )["stateMachineArn"]

    def run(self, start: str = ONLY_NEW) -> dict[str, Any]:
        """Run an execution to its end and describe it."""
        given = json.dumps({"from": start})
        arn = self._states.start_execution(
            stateMachineArn=self._machine, name=f"night-{next(self._names)}", input=given
        )["executionArn"]
        while True:
            found = self._states.describe_execution(executionArn=arn)
            if found["status"] != "RUNNING":
                return dict(found)
            time.sleep(0.05)

    @contextmanager
    def another(self) -> Iterator[str]:
        """Run another execution for the length of the block, which then is stopped."""
        waits = json.dumps({"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 600, "End": True}}})
        machine = self._states.create_state_machine(name="other", definition=waits, roleArn=ROLE)["stateMachineArn"]
        execution = self._states.start_execution(stateMachineArn=machine, name="other")["executionArn"]
        yield execution
        self._states.stop_execution(executionArn=execution)

    @property
    def holder(self) -> str | None:
        """The execution that holds the lock."""
        item = self._dynamodb.get_item(TableName=self._entity, Key=LOCK).get("Item", {})
        return item["held_by"]["S"] if "held_by" in item else None

    @holder.setter
    def holder(self, execution: str) -> None:
        self._dynamodb.put_item(TableName=self._entity, Item={**LOCK, "held_by": {"S": execution}})


def _without_delays(definition: str) -> str:
    return definition.replace('"IntervalSeconds": 30', '"IntervalSeconds": 1')


def test_every_sealed_line_is_inserted_once_whatever_happens_in_the_night(trino: Trino, tmp_path: Path) -> None:
    files = Files(tmp_path / "files")
    # Runs in months that are over and in the last one, one of them in parts.
    files.seal("202601050130", "202601050145", postings("2026-01-05", 5))
    files.seal("202601060130", "202601060130", postings("2026-01-06", 5))
    files.seal("202601310100", "202601310145", postings("2026-01-31", 5))
    files.seal("202602070130", "202602070145", postings("2026-02-07", 12, *ODD))
    in_parts = [one | {"quarter_hour": f"202602080130#{n:02d}"} for n, one in enumerate(postings("2026-02-08", 12))]
    files.seal("202602080130", "202602080130", in_parts, shards=16, parts=2)
    files.seal("202602082330", "202602082345", [])
    (links := tmp_path / "links").mkdir()
    warehouse = Warehouse(trino, "nights", files.folder, links)
    athena = Athena(warehouse, "2026-02-11")

    def ids() -> Counter[str]:
        return Counter(id_ for (id_,) in warehouse.run("SELECT id FROM lines"))

    def sealed_ids() -> Counter[str]:
        return Counter(one["id"] for one in files.lines())

    with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}), answering(athena):
        nights = Nights(warehouse)
        warehouse.find_partitions()
        found = nights.run()
        assert found["status"] == "SUCCEEDED", (found["error"], found["cause"])
        columns = [name for name, *_ in warehouse.run("DESCRIBE lines")]
        rows = map(tuple, warehouse.run("SELECT * FROM lines"))
        assert Counter(rows) == Counter(as_typed(one, columns) for one in files.lines())
        assert warehouse.run("SELECT count(*) FROM orders WHERE customer = 'back\\'") == [[0]]

        # The next night inserts what is new, and the same night again nothing.
        files.seal("202602090130", "202602090145", postings("2026-02-09", 4))
        warehouse.find_partitions()
        for _ in range(2):
            assert nights.run()["status"] == "SUCCEEDED"
            assert ids() == sealed_ids()

        # An insertion that is cancelled, and one that ends with the server: all of its lines, or none.
        files.seal("202602100130", "202602100130", postings("2026-02-10", 3000))
        warehouse.find_partitions()
        before, after = ids(), sealed_ids()
        for interrupted in (cancelled, killed):
            interrupted(trino, warehouse)
            assert ids() in (before, after)

        # While another execution runs, an execution does nothing. The lock of one that has ended is taken over.
        with nights.another() as holder:
            nights.holder = holder
            seen = len(athena.statements)
            assert nights.run()["status"] == "SUCCEEDED"
            assert len(athena.statements) == seen
            assert nights.holder == holder
        assert nights.run()["status"] == "SUCCEEDED"
        assert ids() == after
        assert nights.holder is None

        # A line too many: the sums differ from the manifest's, and the execution fails, without its lock.
        warehouse.run("INSERT INTO lines SELECT * FROM lines WHERE id = '2026-02-09-1'")
        found = nights.run(SINCE_FEBRUARY)
        assert (found["status"], found["error"]) == ("FAILED", "SumsDiffer")
        assert nights.holder is None


def cancelled(trino: Trino, warehouse: Warehouse) -> None:
    """Cancel an insertion that writes."""
    trino.cancel(_writing(trino, warehouse))


def killed(trino: Trino, warehouse: Warehouse) -> None:
    """End the server during an insertion that writes, and start it again."""
    _writing(trino, warehouse)
    trino.kill()
    trino.start()


def _writing(trino: Trino, warehouse: Warehouse) -> dict[str, Any]:
    """Begin an insertion and follow its pages until it writes; return the last one."""
    page = warehouse.submit(warehouse.queries["nightly insertion"], *["'2026-02-01'", "'2026-02-11'"] * 3)
    while page["stats"]["state"] in {"QUEUED", "WAITING_FOR_RESOURCES", "DISPATCHING", "PLANNING", "STARTING"}:
        page = trino.follow(page)
    assert "nextUri" in page, "it ended before it could be interrupted"
    return page
