"""The console over HTTP: its page and its files, for browsers that have signed in nowhere."""

import base64
import gzip
import re
from collections.abc import Iterator

import pytest

from quarterhour_tools.emulator.http_api import Request, Response
from tests.support.repository import ROOT
from tests.support.system import World, opened

PAGES = ("/", "/console/statements", "/console/statements/2026-11/50%25%20off%20%2F%20outlet/USD", "/console/none")
GZIP = (("Accept-Encoding", "gzip, deflate, br"),)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with opened({"JwtIssuer": "https://sign-in.example", "JwtAudience": "quarterhour"}) as world:
        yield world


def get(world: World, path: str, *headers: tuple[str, str], method: str = "GET") -> Response:
    return world.stack.request(Request(method, path, headers=headers))


def assets(world: World) -> list[str]:
    """Return the addresses that the page names."""
    return re.findall(r'(?:href|src)="([^"]+)"', get(world, "/").body.decode())


def test_every_page_is_the_same_document_and_needs_no_token(world: World) -> None:
    answers = [get(world, path) for path in PAGES]
    assert {answer.status for answer in answers} == {200}
    assert {answer.headers["content-type"] for answer in answers} == {"text/html; charset=utf-8"}
    assert len({answer.body for answer in answers}) == 1


@pytest.mark.parametrize("place", ["page", "asset"])
def test_every_file_forbids_sniffing_and_tells_nobody_where_its_reader_was(world: World, place: str) -> None:
    headers = get(world, "/" if place == "page" else assets(world)[0]).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-request-id"]


def test_the_page_is_checked_each_time_and_what_it_names_is_kept_for_ever(world: World) -> None:
    assert get(world, "/").headers["cache-control"] == "no-cache"
    named = assets(world)
    assert len(named) > 5
    for address in named:
        answer = get(world, address)
        assert (answer.status, answer.headers["cache-control"]) == (200, "public, max-age=31536000, immutable"), address


def test_the_runbooks_are_the_page_of_the_documents(world: World) -> None:
    root = assets(world)[0].rpartition("/")[0]
    answer = get(world, f"{root}/runbooks.md")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.body == (ROOT / "docs" / "runbooks.md").read_bytes()


def test_a_file_is_compressed_for_who_can_read_that(world: World) -> None:
    for address in ("/", assets(world)[-1]):
        plain, packed = get(world, address), get(world, address, *GZIP)
        assert packed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"
        assert gzip.decompress(packed.body) == plain.body
        for refused in ("gzip;q=0", "notgzip", "br, gzip; q=0.0", "gzip2, identity"):
            answer = get(world, address, ("Accept-Encoding", refused))
            assert ("content-encoding" in answer.headers, answer.body) == (False, plain.body), refused


def test_all_files_together_are_small(world: World) -> None:
    addresses = {"/", *assets(world)}
    assert sum(len(get(world, address, *GZIP).body) for address in addresses) < 230_000


@pytest.mark.parametrize(
    "path",
    [
        "/assets/app.js",
        "/assets/0123456789abcdef/app.js",
        "/assets/{hash}/none.js",
        "/assets/{hash}/../../handler.py",
        "/assets/{hash}/%2e%2e%2f%2e%2e%2fhandler.py",
        "/assets/{hash}/index.html",
        "/assets/{hash}/vendor/htm.LICENSE",
        "/assets//etc/passwd",
    ],
)
def test_nothing_else_is_served(world: World, path: str) -> None:
    answer = get(world, path.replace("{hash}", assets(world)[0].split("/")[2]))
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json()["detail"].startswith("there is no file")


def test_the_head_of_the_page_needs_no_token_either(world: World) -> None:
    head = get(world, "/", method="HEAD")
    assert (head.status, head.headers["content-type"]) == (200, "text/html; charset=utf-8")


def test_no_other_method_and_no_data_without_a_caller(world: World) -> None:
    assert get(world, "/", method="POST").status == 404
    event = {"rawPath": "/statements", "requestContext": {"requestId": "r"}, "headers": {}}
    answer = world.stack.invoke("console", event)
    assert answer["headers"]["content-type"] == "text/html; charset=utf-8"


def test_the_page_may_connect_to_the_issuer_and_where_its_tokens_come_from() -> None:
    parameters = {
        "JwtIssuer": "https://issuer.example/tenant",
        "JwtAudience": "quarterhour",
        "ConsoleClientId": "console openid api://x/read",
        "ConsoleTokenOrigin": "https://tokens.example",
    }
    with opened(parameters) as world:
        page = get(world, "/")
    policy = dict(one.split(" ", 1) for one in page.headers["content-security-policy"].split("; "))
    own, files, *others = policy["connect-src"].split()
    assert (own, others) == ("'self'", ["https://issuer.example", "https://tokens.example"])
    assert files.startswith("https://")
    assert b"&quot;client_id&quot;: &quot;console&quot;" in page.body
    assert b"&quot;scope&quot;: &quot;openid api://x/read&quot;" in page.body


def test_a_client_without_scopes_requests_openid() -> None:
    parameters = {"JwtIssuer": "https://issuer.example", "JwtAudience": "quarterhour", "ConsoleClientId": "console"}
    with opened(parameters) as world:
        page = get(world, "/")
    assert b"&quot;scope&quot;: &quot;openid&quot;" in page.body


def test_a_compressed_file_reaches_api_gateway_in_base64(world: World) -> None:
    event = {"rawPath": "/", "requestContext": {"requestId": "r"}, "headers": {"accept-encoding": "gzip"}}
    answer = world.stack.invoke("console", event)
    assert answer["isBase64Encoded"]
    assert gzip.decompress(base64.b64decode(answer["body"])).startswith(b"<!doctype html>")
