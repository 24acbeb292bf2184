"""The warehouse: off it is nothing; on, its tables name what sealed files hold, and its machine may do what it does."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from quarterhour.reports.lines import COLUMNS as OF_LINES
from quarterhour.statements.listing import COLUMNS as OF_DOCUMENTS
from quarterhour_tools.emulator.template import Template
from quarterhour_tools.warehouse.tables import SET_UP, Declared
from tests.support.repository import ROOT
from tests.support.warehouse import queries, template
from tests.template.stack import Properties, Stack, listed

ON_DEMAND: Final = {"AWS::Athena::NamedQuery", "AWS::Athena::WorkGroup", "AWS::Glue::Database", "AWS::Glue::Table"}


@pytest.fixture(scope="module")
def on() -> Template:
    return template()


def columns(of: Template, name: str) -> tuple[str, ...]:
    (table,) = (one for one in Declared.of(of).tables if one.name == name)
    return table.columns


def test_it_creates_nothing_unless_it_is_on(stack: Stack) -> None:
    off = Template.load(ROOT / "template.yaml")
    own = {name: one for name, one in stack.resources.items() if one["Type"] in ON_DEMAND or "Warehouse" in name}
    assert {"WarehouseBucket", "WarehouseSchedule", "WarehouseFailedAlarm", "SealedLinesTable"} <= own.keys()
    assert not [name for name, one in own.items() if name in off.deployed(one["Type"])]


def test_its_tables_have_the_columns_of_the_files_in_their_order(on: Template) -> None:
    assert columns(on, "sealed_lines") == columns(on, "drafted_lines") == OF_LINES
    assert columns(on, "released_documents") == tuple(name.replace(".", "_") for name in OF_DOCUMENTS)


def test_the_iceberg_table_has_every_column_of_the_view_that_it_is_filled_from(on: Template) -> None:
    sql = queries(on)
    table = re.findall(r"`(\w+)`", sql[f"{SET_UP}lines"])
    view = [line.rstrip(",").split()[-1] for line in sql[f"{SET_UP}typed_lines"].splitlines() if line.startswith("  ")]
    inserted = re.findall(r"line\.(\w+),?$", sql["nightly insertion"].partition("FROM")[0], re.MULTILINE)
    assert view == ["dt", *table]
    assert inserted == table


def test_no_query_reads_more_than_the_limit_and_every_result_is_encrypted(stack: Stack) -> None:
    (group,) = (one["WorkGroupConfiguration"] for one in stack.of("AWS::Athena::WorkGroup").values())
    assert group["EnforceWorkGroupConfiguration"] is True
    assert group["BytesScannedCutoffPerQuery"] == 20_000_000_000
    assert group["ResultConfiguration"]["EncryptionConfiguration"] == {"EncryptionOption": "SSE_S3"}
    assert group["ResultConfiguration"]["OutputLocation"] == {"Fn::Sub": "s3://${WarehouseBucket}/results/"}


def machine_states(part: Any) -> Iterator[Properties]:
    """Yield all states of a definition, those of its maps and branches too."""
    match part:
        case {"Type": str()}:
            yield part
    for value in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from machine_states(value)


class TestTheNightlyMachine:
    def definition(self, stack: Stack) -> Properties:
        properties = stack.of("AWS::StepFunctions::StateMachine")["WarehouseMachine"]
        parsed: Properties = json.loads(properties["DefinitionString"]["Fn::Sub"])
        return parsed

    def test_sets_up_all_that_the_other_queries_read_and_nothing_else(self, stack: Stack) -> None:
        set_up = {
            f"${{{name}}}"
            for name, query in stack.of("AWS::Athena::NamedQuery").items()
            if query["Name"].startswith(SET_UP)
        }
        (found,) = (one["Result"] for one in machine_states(self.definition(stack)) if one["Type"] == "Pass")
        assert sorted(found) == sorted(set_up)
        assert found[0] == "${LinesTable}", "the views read it"

    def test_calls_nothing_that_its_role_does_not_name_and_no_function(self, stack: Stack) -> None:
        tasks = [one for one in machine_states(self.definition(stack)) if one["Type"] == "Task"]
        called = {one["Resource"].rpartition(":::")[2] for one in tasks}
        assert called == {
            "dynamodb:updateItem",
            "dynamodb:getItem",
            "aws-sdk:sfn:describeExecution",
            "aws-sdk:athena:getNamedQuery",
            "athena:startQueryExecution.sync",
            "athena:getQueryResults",
        }

    def test_frees_its_lock_however_its_work_ends(self, stack: Stack) -> None:
        states = self.definition(stack)["States"]
        (catch,) = states["Work"]["Catch"]
        assert catch["ErrorEquals"] == ["States.ALL"]
        assert (catch["Next"], states["Work"]["Next"]) == ("UnlockFailed", "Unlock")
        for name in ("Unlock", "UnlockFailed"):
            assert states[name]["Parameters"]["UpdateExpression"] == "REMOVE held_by"

    def test_writes_to_the_warehouse_and_to_its_lock_alone(self, stack: Stack) -> None:
        (policy,) = stack.of("AWS::IAM::Role")["WarehouseRole"]["Policies"]
        statements = policy["PolicyDocument"]["Statement"]
        writing = {"s3:PutObject", "s3:DeleteObject", "dynamodb:UpdateItem", "glue:UpdateTable", "glue:CreateTable"}
        written = {
            one["Sid"]: [json.dumps(resource) for resource in listed(one["Resource"])]
            for one in statements
            if writing & set(listed(one["Action"]))
        }
        assert written.keys() == {"Lock", "Tables", "Keep"}
        assert all("${WarehouseBucket.Arn}/" in resource for resource in written["Keep"])
        assert sorted("${WarehouseDatabase}" in resource for resource in written["Tables"]) == [False, True, True]
        (lock,) = (one for one in statements if one["Sid"] == "Lock")
        assert lock["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["WAREHOUSE"]}}
        assert not [one for one in statements if "*" in [*listed(one["Action"]), *map(str, listed(one["Resource"]))]]
        assert not [action for one in statements for action in listed(one["Action"]) if action.startswith("lambda:")]
