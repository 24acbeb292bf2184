"""The executions of the state machine that seals runs in parts."""

import json
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from quarterhour.aws.items import Request
from quarterhour.aws.retries import code_of, with_retries
from quarterhour.reports.plan import Plan

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient


def execution_request(machine: str, plan: Plan, number: int) -> Request:
    """Build the StartExecution of a plan: of ``2026-10-23T0130-0230``, and after failures of ``…-2``, ``…-3``."""
    return {
        "stateMachineArn": machine,
        "name": plan.run if number == 1 else f"{plan.run}-{number}",
        "input": json.dumps({"run": plan.run, "parts": [str(part) for part in plan.all_parts]}),
    }


@dataclass(frozen=True, slots=True)
class Executions:
    """Starts the executions of the state machine with an ARN."""

    client: "SFNClient"
    machine: str

    def start(self, plan: Plan) -> None:
        """Start the execution of a plan, unless it is running.

        An execution that has ended without finishing the plan has failed: its name is used up, so the next one starts.
        """
        for number in count(1):
            request = execution_request(self.machine, plan, number)
            try:
                # The name and input of a running execution start nothing, and succeed.
                with_retries(partial(self.client.start_execution, **request), "Step Functions")
            except ClientError as error:
                if code_of(error) != "ExecutionAlreadyExists":
                    raise
            else:
                return
