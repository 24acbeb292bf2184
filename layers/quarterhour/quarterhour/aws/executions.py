"""The executions of a Step Functions state machine: starting one, and reading its output."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from quarterhour.aws.items import Request
from quarterhour.aws.retries import code_of, with_retries
from quarterhour.model.errors import ExecutionFailedError

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

_SERVICE: Final = "Step Functions"


def execution_request(machine: str, name: str, content: Mapping[str, Any], number: int) -> Request:
    """Build a StartExecution with an input; the execution's name is ``name``, and after others ``…-2``, ``…-3``."""
    return {
        "stateMachineArn": machine,
        "name": name if number == 1 else f"{name}-{number}",
        "input": json.dumps(content),
    }


@dataclass(frozen=True, slots=True)
class Executions:
    """Starts and follows the executions of the state machine with an ARN."""

    client: "SFNClient"
    machine: str

    def start(self, name: str, content: Mapping[str, Any]) -> str:
        """Start an execution with an input, unless it is running; return its ARN.

        The name of an execution that has ended is used up, so the next one starts.
        """
        number = 1
        while True:
            request = execution_request(self.machine, name, content, number)
            try:
                # The name and input of a running execution start nothing, and succeed.
                return with_retries(partial(self.client.start_execution, **request), _SERVICE)["executionArn"]
            except ClientError as error:
                if code_of(error) != "ExecutionAlreadyExists":
                    raise
            number += 1

    def output(self, execution: str) -> Any:  # noqa: ANN401 - JSON is any value
        """Return the output of an execution; ``None`` while it runs.

        Raises ``ExecutionFailedError`` if it failed, timed out or was stopped.
        """
        found = with_retries(partial(self.client.describe_execution, executionArn=execution), _SERVICE)
        if found["status"] in {"RUNNING", "PENDING_REDRIVE"}:
            return None
        if found["status"] != "SUCCEEDED":
            raise ExecutionFailedError(execution, found["status"], found.get("error", ""), found.get("cause", ""))
        return json.loads(found["output"])
