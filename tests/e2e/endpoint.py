"""The endpoint that a deployment is rehearsed against: moto in a separate process. Prints its port, then serves.

One request at a time. Calls about items and streams go to the emulator's engine, which has each table that moto has
deployed: moto alone refuses the insertions of the ledger. A template with a transform is translated, as AWS does it.
"""

import json
import os
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from moto.awslambda.models import LambdaBackend
from moto.cloudformation.models import ChangeSet, CloudFormationBackend
from moto.cloudformation.parsing import NULL_MODELS, ResourceMap
from moto.dynamodb.models import dynamodb_backends
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from samtranslator.translator.transform import transform
from werkzeug.serving import make_server

from quarterhour_tools.emulator.direct import ACCOUNT, REGION, embedded, respond
from quarterhour_tools.emulator.dynamodb.calls import DynamoDB
from quarterhour_tools.emulator.template import Template
from tests.template.stack import chosen

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

os.environ["AWS_DEFAULT_REGION"] = REGION
"""Of the ARNs in a translated template."""
QUOTA = json.dumps({"AccountLimit": {"ConcurrentExecutions": 10}}).encode()
"""What a new account may run at once."""


def translating(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a way to make a change set whose template is translated, and without conditions, if it names a transform.

    moto puts values that are none into policies.
    """

    def made(*args: Any, template: str, parameters: dict[str, str], **kwargs: Any) -> Any:
        document = yaml.safe_load(template)
        if "Transform" in document:
            translated = transform(document, {}, None)
            template = json.dumps(chosen(translated, Template(translated, Path(), parameters).holds))
        return make(*args, template=template, parameters=parameters, **kwargs)

    return made


def applied_with_outputs(change_set: ChangeSet) -> None:
    """Apply a change set, and give its stack the outputs of the template, which moto leaves out."""
    apply(change_set)
    change_set.stack.template_dict = change_set.template_dict
    change_set.stack.output_map = change_set.stack._create_output_map()


def delete_for_good(resources: ResourceMap, resource: Any, *rest: Any) -> None:
    """Delete a resource, and forget it: moto would not make another of its name."""
    delete(resources, resource, *rest)
    parsed = resources._parsed_resources
    for name in [name for name, one in parsed.items() if one is resource]:
        del parsed[name]


delete = ResourceMap._delete_resource
ResourceMap._delete_resource = delete_for_good  # type: ignore[assignment, method-assign]
apply = ChangeSet.apply
ChangeSet.apply = applied_with_outputs  # type: ignore[assignment, method-assign]
CloudFormationBackend.create_change_set = translating(CloudFormationBackend.create_change_set)  # type: ignore[method-assign]

moto = DomainDispatcherApplication(create_backend_app)


def application(engine: DynamoDB) -> Any:
    """Return the application that answers calls about items itself, and gives all others to moto."""

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if environ["PATH_INFO"].rstrip("/").endswith("/account-settings"):
            start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(QUOTA)))])
            return [QUOTA]
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
