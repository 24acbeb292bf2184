"""`quarterhour deliver`: signs a payload and posts it to a connection, as its provider would."""

import argparse
import os
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.intake.connections.request import TOPICS
from quarterhour.intake.connections.signatures import signed_headers
from quarterhour.model import clock
from quarterhour.model.fields import SLUG, is_slug, printable
from quarterhour_tools.errors import ToolError
from quarterhour_tools.target.deployment import api, configure_target

NAME: Final = "deliver"
DESCRIPTION: Final = (
    "Sign a payload with the secret of a connection, and post it to the address of the connection, as its provider "
    "would: to try a connection and its map. The API says which provider it is. Exit code 1 if it is not answered 2xx."
)
SECRET: Final = "QUARTERHOUR_CONNECTION_SECRET"  # noqa: S105 - the name of a variable  # nosec B105
_TIMEOUT: Final = 35
_SUCCESSES: Final = range(200, 300)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour deliver``."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the payload, which is sent byte by byte")
    parser.add_argument("--connection", required=True, type=_name, metavar="NAME", help="the connection")
    parser.add_argument(
        "--topic", default="", help="what it is about, which Shopify and WooCommerce name in a header: orders/paid"
    )
    parser.add_argument("--test", action="store_true", help="mark it as a test notification of Shopify")
    parser.add_argument("--secret-file", type=Path, metavar="FILE", help=f"the secret (default: the variable {SECRET})")
    configure_target(parser)


def _name(text: str) -> str:
    if not is_slug(text):
        raise argparse.ArgumentTypeError(f"expected {SLUG}")
    return text


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    body, secret = args.file.read_bytes(), _secret(args)
    connection = api(args).get(f"/connections/{args.connection}", {})
    if not connection["url"]:
        raise ToolError("the deployment takes no deliveries: set its parameter Intake")
    headers = headers_of(Provider(connection["provider"]), secret, body, args.topic, is_test=args.test)
    try:
        answer = httpx.post(connection["url"], content=body, headers=headers, timeout=_TIMEOUT)
    except httpx.HTTPError as error:
        raise ToolError(f"{connection['url']} does not answer: {error!r}") from error
    print(f"{answer.status_code} {printable(answer.text)}")
    return 0 if answer.status_code in _SUCCESSES else 1


def headers_of(provider: Provider, secret: str, body: bytes, topic: str, *, is_test: bool) -> dict[str, str]:
    """Return the headers with which a provider sends a body."""
    try:
        signed = signed_headers(provider, secret, body, f"msg_{uuid4().hex}", clock.now())
    except ValueError as error:
        raise ToolError("the secret is not one of the Standard Webhooks specification: whsec_ and Base64") from error
    named = {TOPICS[provider]: topic} if topic and provider in TOPICS else {}
    test = {"x-shopify-test": "true"} if is_test else {}
    return {"content-type": "application/json", **signed, **named, **test}


def _secret(args: argparse.Namespace) -> str:
    secret = args.secret_file.read_text("utf-8").strip() if args.secret_file else os.environ.get(SECRET, "")
    if not secret:
        raise ToolError(f"give the secret of the connection: set {SECRET}, or use --secret-file")
    return str(secret)
