"""`make deploy`: builds a stack from a clone, deploys it without a question, and tries it.

The parameters are those of samconfig.toml, and those of ``parameters.<stage>.toml`` beside it, which git ignores.
"""

import argparse
import json
import os
import shlex
import subprocess  # nosec B404
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from quarterhour_tools.cli import main as quarterhour
from quarterhour_tools.emulator.template import TEMPLATE, Template
from quarterhour_tools.errors import ToolError
from quarterhour_tools.target.deployment import outputs_of

CLONE: Final = TEMPLATE.parent
CONFIGURATIONS: Final = {"dev": "default", "prod": "prod"}
"""The configurations of samconfig.toml by stage."""
ENOUGH_AT_ONCE: Final = 100
"""Functions. Those on streams alone can fill ten."""


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="make deploy", description="Build, deploy and try a stack.")
    parser.add_argument("stage", choices=CONFIGURATIONS)
    parser.add_argument("--sam", required=True, metavar="PROGRAM", help="the SAM CLI")
    args = parser.parse_args(arguments)
    try:
        return deploy(args.stage, args.sam)
    except ToolError as error:
        print(f"quarterhour: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return int(error.returncode)  # the program has said why


def deploy(stage: str, sam: str) -> int:
    """Deploy a stage by the SAM CLI; return the exit code of ``quarterhour check``."""
    configuration = CONFIGURATIONS[stage]
    settings = tomllib.loads((CLONE / "samconfig.toml").read_text("utf-8"))[configuration]["global"]["parameters"]
    values = parameters(settings["parameter_overrides"], CLONE / f"parameters.{stage}.toml")
    require_account()
    file = CLONE / "build" / f"parameters.{stage}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(values, indent=2), "utf-8")  # JSON is YAML
    options = ["--config-env", configuration, "--parameter-overrides", f"file://{file}"]
    _run("make", "build", f"SAM_OPTIONS={shlex.join(options)}")
    _run(sam, "deploy", *options)
    stack = str(settings["stack_name"])
    print(f"\nThe API of {stack}: {outputs_of(stack)['ApiUrl']}", flush=True)
    if sentence := of_concurrency():
        print(sentence, flush=True)
    return quarterhour(["check", "--stack", stack, "--wait", "0", "--out", str(CLONE / "build" / "check.html")])


def parameters(configured: list[str], own: Path) -> dict[str, str]:
    """Return the parameters of a deployment by name; raise ``ToolError`` for one that the template refuses."""
    values: dict[str, Any] = dict(shlex.split(one)[0].split("=", 1) for one in configured)
    try:
        values |= tomllib.loads(own.read_text("utf-8")) if own.exists() else {}
        Template.load(TEMPLATE, values)
    except (ToolError, ValueError) as error:
        raise ToolError(f"{own.name}: {error}") from error
    return {name: str(value) for name, value in values.items()}


def require_account() -> None:
    """Raise ``ToolError`` if a deployment would have no region or no credentials."""
    if not boto3.Session().region_name:
        raise ToolError("no region is set: export AWS_REGION=eu-west-1, or another one")
    try:
        boto3.client("sts").get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        raise ToolError(f"AWS takes no credentials from here: {error}; set AWS_PROFILE, or sign in") from error


def of_concurrency() -> str:
    """Return a sentence about the account's limit of functions at once, if it is low."""
    limit = boto3.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    if limit >= ENOUGH_AT_ONCE:
        return ""
    return (
        f"This account may run {limit} functions at once, which the functions on streams alone can fill: request a "
        "higher quota of Lambda, Concurrent executions."
    )


def _run(*command: str) -> None:
    subprocess.run(command, cwd=CLONE, env={**os.environ, "SAM_CLI_TELEMETRY": "0"}, check=True)  # noqa: S603  # nosec B603


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
