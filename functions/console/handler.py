"""Serves the console to browsers: its page at every address, and its files. They hold no data, so nobody signs in."""

import base64
from pathlib import Path
from typing import Any, Final

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.telemetry import observed
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import shown
from quarterhour.model.settings import Environment
from quarterhour.web import http
from quarterhour.web.static_files import ASSETS, INDEX, PageSettings, accepts_gzip, origin, served_files

HERE: Final = Path(__file__).parent
FOLDER: Final = HERE / "static"
RUNBOOKS: Final = "runbooks.md"
"""The runbooks are a page of the documents: a link in the repository, a file in what is deployed."""

env = Environment.of_process()
issuer = env.variables.get("JWT_ISSUER", "")
client, _, scope = env.variables.get("CONSOLE_CLIENT_ID", "").partition(" ")
settings = PageSettings(issuer, client, scope or "openid")
origins = [
    env.text("FILES_ORIGIN"),
    *(origin(one) for one in (issuer, env.variables.get("CONSOLE_TOKEN_ORIGIN")) if one),
]
files = {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
files[RUNBOOKS] = (HERE / RUNBOOKS).read_bytes()
served = served_files(files, settings, origins)


@observed
@http.answered
def handler(event: dict[str, Any], _context: LambdaContext) -> http.Response:
    """Return a file, or the page for every address that is not a file's; raise ``NotFoundError`` for a missing file."""
    path = str(event["rawPath"])
    file = served.get(path) if path.startswith(f"{ASSETS}/") else served[INDEX]
    if file is None:
        raise NotFoundError(f"there is no file {shown(path)}")
    if not accepts_gzip(http.header(event, "accept-encoding")):
        return {"statusCode": 200, "headers": {**file.headers}, "body": file.content.decode()}
    return {
        "statusCode": 200,
        "headers": {**file.headers, "content-encoding": "gzip"},
        "body": base64.b64encode(file.compressed).decode(),
        "isBase64Encoded": True,
    }
