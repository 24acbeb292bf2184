"""A deployment rehearsed on this machine: the real `sam deploy` against moto, and the system on what came out of it."""

import io
import json
import os
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen

import boto3
import pytest

from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.engines import environment
from quarterhour_tools.emulator.pump import Pump
from quarterhour_tools.emulator.template import REF, Function, Template
from tests.support.repository import ROOT
from tests.template.calls import REGION, World
from tests.template.stack import (
    CONFIGURATIONS,
    OPTIONS,
    Properties,
    chosen,
    configured,
    overrides,
    parsed,
    plain,
    translated,
)

SAM: Final = ROOT / ".venv-sam" / "bin" / "sam"
CODE: Final = "code"
"""The bucket that code goes up to."""


@contextmanager
def endpoint() -> Iterator[str]:
    """Run moto for the length of the block, where every AWS client reaches it; gives its URL."""
    command = [sys.executable, "-m", "tests.e2e.endpoint"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - our own
        try:
            assert process.stdout
            url = f"http://127.0.0.1:{int(process.stdout.readline())}"
            with environment({"AWS_ENDPOINT_URL": url, "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}):
                yield url
        finally:
            process.terminate()


def clear(url: str) -> None:
    """Forget all that stands on the endpoint, and make a bucket for code."""
    with urlopen(Request(f"{url}/moto-api/reset", method="POST")):  # noqa: S310 - our own
        boto3.client("s3").create_bucket(Bucket=CODE)


@dataclass(frozen=True, slots=True)
class Deployed:
    """A stack that stands: what its resources are called, and its functions in the environment that they got."""

    names: Mapping[str, str]
    """What ``!Ref`` gives, by logical id; of what moto leaves out, nothing."""
    functions: Mapping[str, Function]
    parameters: Mapping[str, str]

    @classmethod
    def found(cls, stack: str, document: Properties) -> "Deployed":
        """Ask the endpoint what it made of a template."""
        cloudformation = boto3.client("cloudformation")
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
        names = {
            one["LogicalResourceId"]: one["PhysicalResourceId"]
            for page in pages
            for one in page["StackResourceSummaries"]
            if one.get("PhysicalResourceId", "").strip()
        }
        (described,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
        parameters = {one["ParameterKey"]: one["ParameterValue"] for one in described["Parameters"]}
        template = Template(document, ROOT, parameters)
        logical = {
            Path(properties["CodeUri"]).name: name
            for name, properties in template.resources("AWS::Serverless::Function").items()
        }
        # The console's option may be off; the template serves its pages all the same, for the emulator.
        functions = {
            name: one for name, one in template.functions(partial(_attribute, names)).items() if logical[name] in names
        }
        return cls(
            names,
            {name: replace(one, environment=_environment(names[logical[name]])) for name, one in functions.items()},
            parameters,
        )

    def world(self, clock: ManualClock, patch: pytest.MonkeyPatch) -> World:
        """Start the functions."""
        world = World(clock)
        world.names.update(self.names)
        for function in self.functions.values():
            world.start(function, patch)
        return world

    def pumps(self, world: World) -> list[Pump]:
        """Return what delivers the streams to the functions."""
        return [
            Pump(mapping, name, partial(world.run, name), boto3.client("dynamodbstreams"), boto3.client("sqs"))
            for name, function in self.functions.items()
            for mapping in function.mappings
        ]


def sam_deploy(config: str, folder: Path, parameters: Mapping[str, str] | None = None) -> Deployed:
    """Have the SAM CLI deploy the template with a configuration of samconfig.toml, and more parameters than its own."""
    document = parsed()
    template = folder / "template.json"
    template.write_text(json.dumps(_with_code_in_folders(document)), "utf-8")
    command = [
        *(str(SAM), "deploy", "--config-file", str(CONFIGURATIONS), "--config-env", config),
        *("--template-file", str(template), "--no-confirm-changeset", "--no-resolve-s3", "--s3-bucket", CODE),
    ]
    # On the command line they stand for all of the configuration's.
    given = {**OPTIONS, **overrides(config), **(parameters or {})}
    command += ["--parameter-overrides", *(f"{name}={shlex.quote(value)}" for name, value in given.items())]
    variables = {
        **os.environ,
        # The one host for which moto finds a bucket's name in the path of a template's URL.
        "AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"].replace("127.0.0.1", "localhost"),
        "HOME": str(folder),
        "SAM_CLI_TELEMETRY": "0",
        "SAM_CLI_POLL_DELAY": "0.2",
    }
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return Deployed.found(configured(config)["stack_name"], document)


def deploy(document: Properties) -> Deployed:
    """Deploy a template without the SAM CLI, its functions being empty."""
    return _applied(document, translated(document), OPTIONS, boto3.client("cloudformation").create_stack)


def deploy_with(parameters: Mapping[str, str], *, update: bool = False) -> Deployed:
    """Deploy what a choice of options leaves of the template, or update the stack that stands to it."""
    template = plain(parsed())
    holds = Template(template, ROOT, parameters).holds
    for part in ("Resources", "Outputs"):
        there = {name: one for name, one in template[part].items() if "Condition" not in one or holds(one["Condition"])}
        template[part] = chosen(there, holds)
    for resource in template["Resources"].values():
        resource.get("Properties", {}).pop("Layers", None)  # moto makes none, and updates no function that names one
    cloudformation = boto3.client("cloudformation")
    return _applied(
        parsed(), template, parameters, cloudformation.update_stack if update else cloudformation.create_stack
    )


def _applied(
    document: Properties, template: Properties, parameters: Mapping[str, str], apply: Callable[..., object]
) -> Deployed:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as built:
        built.writestr("handler.py", "")
    boto3.client("s3").put_object(Bucket=CODE, Key="built.zip", Body=content.getvalue())
    given = [{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()]
    apply(StackName="made-up", TemplateBody=json.dumps(template), Parameters=given)
    return Deployed.found("made-up", document)


def _with_code_in_folders(document: Properties) -> Properties:
    """Translate a template so that the SAM CLI finds the code of functions and layers in their folders."""
    template = translated(document)
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Lambda::Function":
            resource["Properties"]["Code"] = str(ROOT / document["Resources"][name]["Properties"]["CodeUri"])
        if resource["Type"] == "AWS::Lambda::LayerVersion":
            resource["Properties"]["Content"] = str(ROOT / "layers" / "quarterhour")
    return template


def _attribute(names: Mapping[str, str], resource: str, name: str) -> str:
    if name == REF:
        return names.get(resource, "")
    if name == "StreamArn":
        return str(boto3.client("dynamodb").describe_table(TableName=names[resource])["Table"]["LatestStreamArn"])
    if name == "Arn" and "sqs" in names.get(resource, ""):
        attributes = boto3.client("sqs").get_queue_attributes(QueueUrl=names[resource], AttributeNames=["QueueArn"])
        return attributes["Attributes"]["QueueArn"]
    return ""


def _environment(function: str) -> Mapping[str, str]:
    variables = boto3.client("lambda").get_function_configuration(FunctionName=function)["Environment"]["Variables"]
    return {name: str(value) for name, value in variables.items()}
