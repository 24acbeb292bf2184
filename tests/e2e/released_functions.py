"""Functions of 0.2.0, from its commit, run in another process on the tables of a system of today."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from quarterhour.model.clock import iso_millis
from quarterhour_tools.emulator import http_api
from quarterhour_tools.emulator.authorizer import MACHINE
from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.emulator.template import Route
from tests.support.system import World

_RUN = """
import json, os, sys
from types import SimpleNamespace
given = json.load(sys.stdin)
sys.path[:0] = given["paths"]
import handler as module
from quarterhour.model import clock
assert clock.__file__.startswith(given["paths"][0]), clock.__file__
clock._current = clock.ManualClock(clock.parse_iso(given["now"]))
context = SimpleNamespace(function_name=given["function"], memory_limit_in_mb=512, aws_request_id=given["id"],
                          get_remaining_time_in_millis=lambda: 30_000,
                          invoked_function_arn="arn:aws:lambda:us-east-1:123456789012:function:" + given["function"])
appends = []
def die(**_):
    if len(appends) == given["appends"]:
        os._exit(9)
    appends.append(1)
if given["appends"] is not None:
    module.recorder._store.client.meta.events.register("before-call.dynamodb.BatchWriteItem", die)
print(json.dumps(module.handler(given["event"], context)), file=sys.stderr)
"""
_DIED = 9
_IDS = count(1)


class DiedError(Exception):
    """The function ended with an error, or was made to die. API Gateway answers 500."""


@dataclass(frozen=True, slots=True)
class ReleasedFunctions:
    """The functions of the release in a folder, on the tables of a system that DynamoDB Local serves at a URL."""

    world: World
    folder: Path
    url: str

    def invoke(self, name: str, event: Any, environment_of: str | None = None, appends: int | None = None) -> Any:
        """Invoke a function at the instant of the system's clock, and return its response.

        ``environment_of``: the function of today that has the variables it needs. ``appends``: how many appends it
        makes before it dies. Raises ``DiedError``, with the error, if it has no response.
        """
        given = {
            "paths": [str(self.folder / "layers" / "quarterhour"), str(self.folder / "functions" / name)],
            "function": name,
            "id": f"released-{next(_IDS)}",
            "now": iso_millis(self.world.clock.now()),
            "event": event,
            "appends": appends,
        }
        environment = self.world.stack.functions[environment_of or name].environment
        aws = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1"}
        more = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": self.url, "POWERTOOLS_TRACE_DISABLED": "1"}
        in_turn = {"MAX_CONCURRENCY": "1"}  # so that each append has ended before the next one begins
        ended = subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-P", "-c", _RUN],
            input=json.dumps(given, default=str),
            env={"PATH": os.environ["PATH"], **environment, **aws, **more, **in_turn},
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise DiedError("killed" if ended.returncode == _DIED else ended.stderr)
        return json.loads(ended.stderr.splitlines()[-1])

    def answer(self, name: str, request: Request, environment_of: str | None = None, appends: int | None = None) -> Any:
        """Return what a function answers to an HTTP request: the status, and the JSON of the body.

        The other arguments and ``DiedError`` as of ``invoke``.
        """
        sent = http_api.event(Route(request.method, request.path), {}, request, MACHINE, self.world.clock.now())
        answer = self.invoke(name, sent, environment_of, appends)
        return answer["statusCode"], json.loads(answer["body"])
