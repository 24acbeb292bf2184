"""The state machines of a stack: moto's interpreter executes them, and the stack's functions answer its invocations.

moto reports a map as succeeded though its items failed; a state that follows must notice.
"""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from io import BytesIO
from queue import Empty, Queue
from typing import Any, Final

from moto.core.config import default_user_config
from moto.stepfunctions.responses import get_backend

from quarterhour_tools.emulator.template import StateMachine

Invoke = Callable[[str, dict[str, Any]], object]
"""Invokes a function by name with an event; returns its result or raises its exception."""

_RUNNING: Final = "RUNNING"
_POLL_SECONDS: Final = 0.02
_stacks: Final[dict[str, "StateMachines"]] = {}
"""The state machines of each stack, by the ARNs of the machines and of the functions that they may invoke."""


@dataclass(frozen=True, slots=True)
class _Invocation:
    function: str
    payload: bytes
    response: Future[dict[str, Any]]


class StateMachines:
    """The state machines of one stack. moto's interpreter runs in threads; the functions run in the stack's own."""

    def __init__(
        self, machines: Mapping[str, StateMachine], functions: Mapping[str, str], account: str, region: str
    ) -> None:
        """Take the state machines by ARN, and the names of the functions by ARN."""
        self._machines = machines
        self._functions = functions
        self._place = account, region
        self._created: set[str] = set()
        self._waiting: Queue[_Invocation] = Queue()
        _stacks.update(dict.fromkeys([*machines, *functions], self))

    def create(self, arn: str) -> None:
        """Create a state machine unless it exists: the interpreter takes seconds to load, and most stacks need none."""
        if arn in self._machines and arn not in self._created:
            _answer_the_interpreter()
            machine = self._machines[arn]
            role = f"arn:aws:iam::{self._place[0]}:role/{machine.name}"
            get_backend(*self._place).create_state_machine(machine.name, machine.definition, role)
            self._created.add(arn)

    def complete(self, invoke: Invoke) -> None:
        """Answer the invocations of all executions until each has ended."""
        while self._created and self._running():
            try:
                waiting = self._waiting.get(timeout=_POLL_SECONDS)
            except Empty:
                continue
            waiting.response.set_result(_answer(invoke, self._functions[waiting.function], waiting.payload))

    def close(self) -> None:
        """Forget the stack."""
        for arn in [*self._machines, *self._functions]:
            _stacks.pop(arn, None)

    def _running(self) -> bool:
        if not default_user_config["stepfunctions"]["execute_state_machine"]:
            return False
        backend = get_backend(*self._place)
        executions = (one for arn in self._created for one in backend.describe_state_machine(arn).executions)
        return any(one.status == _RUNNING for one in executions)

    def wait(self, function: str, payload: bytes) -> dict[str, Any]:
        """Wait for the stack to answer an invocation."""
        invocation = _Invocation(function, payload, Future())
        self._waiting.put(invocation)
        return invocation.response.result()


class _Lambda:
    """Stands for the interpreter's Lambda client."""

    def invoke(self, FunctionName: str, Payload: bytes, **_: object) -> dict[str, Any]:  # noqa: N803 - as in boto3
        return _stacks[FunctionName].wait(FunctionName, Payload)


def _answer_the_interpreter() -> None:
    """Load the interpreter, if executions run, and answer what it invokes."""
    if default_user_config["stepfunctions"]["execute_state_machine"]:
        from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils  # noqa: PLC0415

        vars(lambda_eval_utils)["boto_client_for"] = lambda **_: _Lambda()


def prepare(**started: Any) -> None:  # noqa: ANN401 - botocore's own arguments
    """Create the state machine of an execution that a function starts; botocore calls this before the request."""
    prepare_for(started["params"]["body"])


def prepare_for(body: str | bytes) -> None:
    """Create the state machine that the body of a request to AWS names, if it names one of a stack's."""
    arn = json.loads(body or b"{}").get("stateMachineArn")
    if arn in _stacks:
        _stacks[arn].create(arn)


def _answer(invoke: Invoke, function: str, payload: bytes) -> dict[str, Any]:
    """Return Lambda's response to an invocation."""
    try:
        content, failed = invoke(function, json.loads(payload)), {}
    except Exception as error:  # noqa: BLE001 - Lambda returns any exception of a function in this form
        content = {"errorType": type(error).__name__, "errorMessage": str(error)}
        failed = {"FunctionError": "Unhandled"}
    return {"StatusCode": 200, "Payload": BytesIO(json.dumps(content).encode()), **failed}
