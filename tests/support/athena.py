"""Athena for moto's interpreter of state machines, which has none: a ``Warehouse`` on Trino runs the queries."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

import boto3
from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.state_task import state_task_factory
from moto.stepfunctions.parser.asl.component.state.exec.state_task.credentials import StateCredentials
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import ResourceRuntimePart
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_aws_sdk import (
    StateTaskServiceAwsSdk,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_glue import (
    StateTaskServiceGlue,
)
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from quarterhour_tools.emulator.direct import REGION
from tests.support.trino import QueryError
from tests.support.warehouse import Warehouse

Environment = Any
_FAILED: Final = StatesErrorNameType.StatesTaskFailed


class Athena:
    """The queries of one test: runs each on the warehouse, and keeps its rows by the id of its execution."""

    def __init__(self, warehouse: Warehouse, today: str) -> None:
        """Take the date that ``current_date`` is."""
        self._warehouse = warehouse
        self._today = today
        self._ids = count()
        self._rows: dict[str, list[list[Any]]] = {}
        self.statements: list[str] = []

    def run(self, sql: str, parameters: list[str]) -> str:
        """Run a statement; return the id of its execution. Raises ``QueryError`` if it fails."""
        self.statements.append(sql)
        dated = sql.replace("current_date", f"DATE '{self._today}'")
        execution = f"query-{next(self._ids)}"
        self._rows[execution] = self._warehouse.run(dated, *parameters)
        return execution

    def results(self, execution: str) -> dict[str, Any]:
        """Return the rows of an execution as GetQueryResults does: the first row has the names of the columns."""
        rows = [["the", "names"], *self._rows[execution]]
        return {"ResultSet": {"Rows": [{"Data": [{"VarCharValue": str(one)} for one in row]} for row in rows]}}


class _Sdk(StateTaskServiceAwsSdk):
    """States that call any API. Their fields begin with a capital, which moto hands on as it is."""

    def _eval_service_task(
        self,
        env: Environment,
        resource_runtime_part: ResourceRuntimePart,
        normalised_parameters: dict[str, Any],
        state_credentials: StateCredentials,
    ) -> None:
        of_sfn = self.resource.api_name == "sfn"
        given = _cased(str.lower, normalised_parameters) if of_sfn else normalised_parameters
        super()._eval_service_task(env, resource_runtime_part, given, state_credentials)
        if of_sfn:
            answer = _cased(str.upper, env.stack.pop())
            env.stack.append({name: value for name, value in answer.items() if isinstance(value, str)})


def _cased(change: Callable[[str], str], values: dict[str, Any]) -> dict[str, Any]:
    return {change(name[0]) + name[1:]: value for name, value in values.items()}


@contextmanager
def answering(athena: Athena) -> Iterator[None]:
    """Let the interpreter's states run their queries there, for the length of the block."""
    known: Callable[..., Any] = vars(state_task_factory)["state_task_service_for"]

    class Service(StateTaskServiceGlue):
        """The states of Athena."""

        def _get_supported_parameters(self) -> set[str]:
            return {
                *("QueryString", "ExecutionParameters", "WorkGroup", "QueryExecutionContext"),
                *("QueryExecutionId", "MaxResults"),
            }

        def _handle_get_query_results(self, env: Environment, _: Any, parameters: dict[str, Any], *__: Any) -> None:
            env.stack.append(athena.results(parameters["QueryExecutionId"]))

        def _handle_start_query_execution(self, env: Environment, _: Any, parameters: dict[str, Any], *__: Any) -> None:
            try:
                execution = athena.run(parameters["QueryString"], parameters.get("ExecutionParameters", []))
            except QueryError as error:
                details = TaskFailedEventDetails(
                    resource=self._get_sfn_resource(),
                    resourceType=self._get_sfn_resource_type(),
                    error=_FAILED.to_name(),
                    cause=str(error),
                )
                failure = FailureEvent(
                    env=env,
                    error_name=StatesErrorName(typ=_FAILED),
                    event_type=HistoryEventType.TaskFailed,
                    event_details=EventDetails(taskFailedEventDetails=details),  # type: ignore[typeddict-item] # as moto does
                )
                raise FailureEventException(failure) from error
            env.stack.append({"QueryExecution": {"QueryExecutionId": execution}})

        def _is_integration_pattern(self) -> bool:
            return False  # each query has ended when its state goes on: nothing is polled

    def service_for(service_name: str) -> Any:
        match service_name:
            case "athena":
                return Service()  # type: ignore[no-untyped-call] # moto has no types here
            case "aws-sdk":
                return _Sdk()  # type: ignore[no-untyped-call]
            case _:
                return known(service_name)

    vars(state_task_factory)["state_task_service_for"] = service_for
    try:
        yield
    finally:
        vars(state_task_factory)["state_task_service_for"] = known


def named_queries(warehouse: Warehouse) -> dict[str, str]:
    """Store the template's named queries in moto; return their ids by the resources' names."""
    client = boto3.client("athena", region_name=REGION)
    return {
        resource: client.create_named_query(
            Name=query["Name"], Database="quarterhour", QueryString=warehouse.queries[query["Name"]]
        )["NamedQueryId"]
        for resource, query in warehouse.template.deployed("AWS::Athena::NamedQuery").items()
    }
