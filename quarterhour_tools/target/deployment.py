"""The stack that a command works on: which one its arguments select, and what it offers."""

import argparse
import getpass
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.utils import is_valid_endpoint_url, is_valid_ipv6_endpoint_url

from quarterhour.model import errors, instants
from quarterhour.model.periods import PERIOD, Period
from quarterhour.web import parameters
from quarterhour_tools.aws_errors import sentence_of
from quarterhour_tools.bucket import Bucket, Folder, Objects
from quarterhour_tools.errors import ToolError
from quarterhour_tools.target.remote import Answered, Remote

_LONGEST_RUN = 905
"""Seconds: slightly more than the functions' timeout."""
_EXPECTED_ADDRESS: Final = "expected an address such as http://127.0.0.1:8080"


def configure_target(parser: argparse.ArgumentParser) -> Any:  # noqa: ANN401 - argparse does not name the type
    """Add the arguments that select a deployed stack or an emulator; return their group, of which one is given."""
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--stack", metavar="NAME", help="the deployed CloudFormation stack, such as quarterhour-dev")
    target.add_argument(
        "--url",
        type=address,
        metavar="URL",
        help="a running emulator (quarterhour up), such as http://127.0.0.1:8080",
    )
    return target


def address(text: str) -> str:
    """Return an address of HTTP as it is; raise ``ToolError`` if no request can be sent to it."""
    if not set("@?#").isdisjoint(text):  # not shown, because it may hold a password
        raise ToolError(f"--url has a user, a query or a fragment: {_EXPECTED_ADDRESS}")
    if problem := _problem_of(text):
        raise ToolError(f"--url is {text!r}, {problem}: {_EXPECTED_ADDRESS}")
    return text


def _problem_of(text: str) -> str | None:
    if not text.isascii() or not text.isprintable() or " " in text:
        return "with a blank, a line break or a letter outside ASCII"
    if not text.lower().startswith(("http://", "https://")):
        return "which does not begin with http:// or https://"
    try:
        if urlsplit(text).port == 0:
            return "with the port 0"
        valid = is_valid_endpoint_url(text) or is_valid_ipv6_endpoint_url(text)
    except ValueError as error:
        return f"which is no address ({error})"
    return None if valid else "without the name or the IP address of a host"


def configure_span(parser: argparse.ArgumentParser, of: str) -> None:
    """Add the arguments of a span of time; ``of`` completes the help text."""
    instant: dict[str, Any] = {"type": moment, "required": True, "metavar": "INSTANT"}
    parser.add_argument("--from", dest="start", help=f"the first instant {of}, or a date", **instant)
    parser.add_argument("--to", dest="end", help="the end of the span, not included, or a date", **instant)


def moment(text: str) -> datetime:
    """Parse an instant or a date of an argument; raise ``ArgumentTypeError`` for any other text."""
    try:
        return instants.moment(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected {parameters.MOMENT}") from error


def month(text: str) -> Period:
    """Parse a month of an argument; raise ``ArgumentTypeError`` for any other text."""
    try:
        return Period.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected {PERIOD}") from error


def operator(args: argparse.Namespace) -> str:
    """Return the name of the person who runs a command: the IAM identity, or the local user of an emulator."""
    if args.url:
        return getpass.getuser()
    return str(boto3.client("sts").get_caller_identity()["Arn"])


def api(args: argparse.Namespace, connections: int = 1) -> Remote:
    """Return the HTTP API of the deployed stack or the emulator that the arguments select.

    ``connections``: the most requests at a time. Raises ``ToolError`` if the stack has no API, or if the machine has no
    credentials for AWS.
    """
    if not args.url:
        return Remote.deployed(deployed(args.stack, "ApiUrl"), connections)
    return Remote(args.url, connections=connections)


def invoke(args: argparse.Namespace, function: str, event: dict[str, Any], answered: Answered | None = None) -> Any:  # noqa: ANN401 - JSON is any value
    """Invoke a function and return its result; raise ``ToolError`` if it fails.

    ``answered`` is called with the status and the headers of Lambda's answer.
    """
    try:
        name = function.lower() if args.url else deployed(args.stack, f"{function}FunctionName")
        # No retries: the first invocation may still run.
        config = Config(read_timeout=_LONGEST_RUN, retries={"total_max_attempts": 1})
        answer = client("lambda", args.url, config).invoke(FunctionName=name, Payload=json.dumps(event))
    except (BotoCoreError, ClientError) as error:
        raise ToolError(f"{function} could not be invoked: {sentence_of(error)}") from error
    if answered:
        meta = answer["ResponseMetadata"]
        answered(f"Invoke {function}", meta["HTTPStatusCode"], meta["HTTPHeaders"])
    payload = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise ToolError(f"{function} failed: {_said(payload)}")
    return payload


def _said(payload: Mapping[str, Any]) -> str:
    """Return what an error of a function says: one of the system's own is a sentence, any other needs its name."""
    name, sentence = str(payload.get("errorType")), str(payload.get("errorMessage"))
    return sentence if hasattr(errors, name) else f"{name}: {sentence}"


def sealed_files(args: argparse.Namespace) -> Objects:
    """Return the sealed files of the folder, the deployed stack or the emulator that the arguments select."""
    if args.folder:
        return Folder(args.folder)
    name = "ReportBucket" if args.url else deployed(args.stack, "ReportBucketName")
    return Bucket(client("s3", args.url, Config(s3={"addressing_style": "path"})), name)


def client(service: Literal["dynamodb", "events", "lambda", "s3", "sqs"], url: str | None, config: Config) -> Any:  # noqa: ANN401 - the stubs are no dependency
    """Return a client of a service, of AWS or of the emulator at a URL."""
    if url is None:
        return boto3.client(service, config=config)
    own = boto3.Session(aws_access_key_id="local", aws_secret_access_key="local", region_name="us-east-1")  # noqa: S106  # nosec B106
    return own.client(service, endpoint_url=url, config=config)


def deployed(stack: str, output: str) -> str:
    """Return the value of an output of a deployed stack; raise ``ToolError`` if it has no such output."""
    outputs = outputs_of(stack)
    if output not in outputs:
        raise ToolError(f"the stack {stack} has no {output}: is it a stack of Quarterhour?")
    return outputs[output]


def outputs_of(stack: str) -> Mapping[str, str]:
    """Return the outputs of a deployed stack by name."""
    (found,) = boto3.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return {one["OutputKey"]: str(one["OutputValue"]) for one in found.get("Outputs", [])}
