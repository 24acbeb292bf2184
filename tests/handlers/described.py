"""The OpenAPI document as it is published, and the system behind it as its reader meets it."""

import json
from copy import deepcopy
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.models import PreparedRequest
from urllib3 import HTTPHeaderDict, HTTPResponse

from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.emulator.template import TEMPLATE

Json = dict[str, Any]

(FILE,) = TEMPLATE.parent.glob("functions/*/openapi.json")
DOCUMENT: Final[Json] = json.loads(FILE.read_text("utf-8"))
OPERATIONS: Final[dict[str, Json]] = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
WRITES: Final = [route for route in OPERATIONS if not route.startswith("GET")]
ADDRESS: Final = "http://local"


def parameters(operation: Json) -> list[Json]:
    """Return the parameters of an operation, those that operations share too."""
    shared = DOCUMENT["components"]["parameters"]
    return [shared[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in operation.get("parameters", [])]


def closed(document: Json) -> Json:
    """Return the document with answers that hold nothing but what it tells."""
    changed = deepcopy(document)
    for shape in changed["components"]["schemas"].values():
        if "properties" in shape:
            shape.setdefault("additionalProperties", False)
    return changed


def reference() -> str:
    """Return the reference of the API, as a page whose links lead to the folder ``docs``."""
    from quarterhour_tools.openapi.reference import page  # noqa: PLC0415 - every worker would wait two seconds for it

    return page(DOCUMENT, "../docs")


class InProcess(HTTPAdapter):
    """Passes to a system in this process what would be sent over HTTP."""

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self._stack = stack

    def send(self, request: PreparedRequest, *_: object, **__: object) -> requests.Response:
        """Answer a request."""
        url = urlsplit(str(request.url))
        body = request.body.encode() if isinstance(request.body, str) else request.body or b""
        assert isinstance(body, bytes)
        headers = tuple((name, str(value)) for name, value in request.headers.items())
        answer = self._stack.request(Request(str(request.method), str(url.path), str(url.query), headers, body))
        raw = HTTPResponse(BytesIO(answer.body), HTTPHeaderDict(answer.headers), answer.status, preload_content=False)
        return self.build_response(request, raw)


def session(stack: Stack) -> requests.Session:
    """Return a session whose requests to ``ADDRESS`` reach a system."""
    made = requests.Session()
    made.mount(ADDRESS, InProcess(stack))
    return made
