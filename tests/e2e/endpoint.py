"""The endpoint that a deployment is rehearsed against: moto in a separate process. Prints its port, then serves.

One request at a time. Calls about items and streams go to the emulator's engine, which has each table that moto has
deployed: moto alone refuses the insertions of the ledger.
"""

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from moto.awslambda.models import LambdaBackend
from moto.cloudformation.parsing import NULL_MODELS
from moto.dynamodb.models import dynamodb_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from quarterhour_tools.emulator.direct import ACCOUNT, REGION, embedded, respond
from quarterhour_tools.emulator.dynamodb.calls import DynamoDB

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

OF_THE_ENGINE = re.compile(r"DynamoDB(Streams_.*|_.*\.(DescribeTable|.*Items?|Query|Scan|.*Statement))")
"""The targets of these calls; a table is described too, as its stream has its name from the engine."""

# Its event source mappings would run each record in a container, and empty the stream.
LambdaBackend.send_dynamodb_items = lambda *_: b""  # type: ignore[method-assign]

# It makes no alarms, and so cannot make a dashboard that shows some.
NULL_MODELS.append("AWS::CloudWatch::Dashboard")
# It makes no aliases, and so cannot permit anybody to invoke one.
NULL_MODELS.append("AWS::Lambda::Permission")

moto = DomainDispatcherApplication(create_backend_app)


def application(engine: DynamoDB) -> Any:
    """Return the application that answers calls about items itself, and gives all others to moto."""

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        if not OF_THE_ENGINE.fullmatch(target):
            answered: Iterable[bytes] = moto(environ, start_response)
            return answered
        deployed = dynamodb_backends[ACCOUNT][REGION].tables
        for name in engine.tables.keys() - deployed.keys():
            engine.call("DeleteTable", {"TableName": name})
        for name in deployed.keys() - engine.tables.keys():
            engine.call("CreateTable", deployed[name].describe("Table")["Table"])
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        status, content = respond(target, body)
        headers = [("Content-Type", "application/x-amz-json-1.0"), ("Content-Length", str(len(content)))]
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [content]

    return answer


with embedded() as opened:
    server = make_server("127.0.0.1", 0, application(opened))
    print(server.port, flush=True)  # noqa: T201 - it is what this program tells
    server.serve_forever()
