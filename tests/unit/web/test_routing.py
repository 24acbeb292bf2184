"""The routes of a function: found by their paths, and registered by rooms when a request first needs them."""

from types import SimpleNamespace
from typing import Any

import pytest

from quarterhour.model.errors import NotFoundError, SettingsError
from quarterhour.model.settings import Environment
from quarterhour.web import http
from quarterhour.web.access import everyone
from quarterhour.web.routing import Routes

VARIABLES = {"AGENCY_CLAIM": "agency"}
MACHINE = {"iam": {"userArn": "arn:aws:iam::123456789012:role/Shop"}}
CONTEXT: Any = SimpleNamespace()


def routes_of(*failures: Exception, **variables: str) -> tuple[Routes, list[str]]:
    """Return routes of two rooms, and the list to which each room adds its name when it is registered."""
    routes, registered, left = Routes(Environment({**VARIABLES, **variables})), [], list(failures)

    @routes.room("accounts", "overview")
    def counters() -> None:
        registered.append("counters")

        @routes.get("/accounts/<agency>/<currency>", allow=everyone)
        def account(agency: str, currency: str) -> http.Response:
            return http.response(200, {"account": f"{agency} {currency}"})

        if left:
            raise left.pop()

        @routes.get("/overview", allow=everyone)
        def overview() -> http.Response:
            return http.response(200, {"overview": 1})

    @routes.room("accounts")
    def statements() -> None:
        registered.append("statements")

        @routes.get("/accounts/<agency>/<currency>/balance", allow=everyone)
        def balance(agency: str, currency: str) -> http.Response:
            return http.response(200, {"balance": f"{agency} {currency}"})

    return routes, registered


def get(routes: Routes, path: str, method: str = "GET") -> str:
    event = {"rawPath": path, "requestContext": {"http": {"method": method}, "authorizer": MACHINE}}
    return str(routes.handle(event, CONTEXT)["body"])


def test_a_room_is_registered_once_and_by_a_request_that_no_earlier_room_answers() -> None:
    routes, registered = routes_of()
    assert registered == []
    assert get(routes, "/accounts/42/GBP") == '{"account": "42 GBP"}'
    assert get(routes, "/overview") == '{"overview": 1}'
    assert registered == ["counters"]
    assert get(routes, "/accounts/4%2F2/GBP/balance") == '{"balance": "4%2F2 GBP"}'
    assert registered == ["counters", "statements"]
    assert [one.rule for one in routes.operations] == [
        "/accounts/<agency>/<currency>",
        "/overview",
        "/accounts/<agency>/<currency>/balance",
    ]
    assert registered == ["counters", "statements"]


@pytest.mark.parametrize(
    "path", ["", "/", "/accounts", "/accounts/42/", "/accounts//GBP", "/accounts/42/GBP/", "/overview/1", "/other"]
)
def test_a_path_without_a_route_is_not_found(path: str) -> None:
    routes, _ = routes_of()
    with pytest.raises(NotFoundError, match="there is no route GET "):
        get(routes, path)


def test_another_method_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="there is no route PUT "):
        get(routes_of()[0], "/overview", "PUT")


def test_a_room_that_could_not_be_registered_is_registered_whole_by_the_next_request() -> None:
    routes, registered = routes_of(SettingsError("ENTITY_TABLE is not set"))
    with pytest.raises(SettingsError):
        get(routes, "/overview")
    assert get(routes, "/overview") == '{"overview": 1}'
    assert registered == ["counters", "counters"]
    assert len(routes.operations) == 3


@pytest.mark.parametrize("kind", ["snap-start", "provisioned-concurrency"])
def test_a_process_that_is_kept_before_a_request_comes_has_every_room(kind: str) -> None:
    routes, registered = routes_of(AWS_LAMBDA_INITIALIZATION_TYPE=kind)
    routes.started()
    assert registered == ["counters", "statements"]


def test_a_start_for_a_request_registers_no_room() -> None:
    for variables in ({}, {"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand"}):
        routes, registered = routes_of(**variables)
        routes.started()
        assert registered == []


def test_a_route_that_no_request_would_find_is_refused() -> None:
    routes = Routes(Environment(VARIABLES))

    @routes.room("accounts")
    def counters() -> None:
        routes.get("/overview", allow=everyone)(lambda: http.response(200, {}))

    with pytest.raises(ValueError, match="no request finds /overview: its room begins with accounts"):
        _ = routes.operations
