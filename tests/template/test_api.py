"""The HTTP API: every route known, none open to strangers."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from tests.template.stack import Properties, Stack, aliased, listed

STATEMENT_BYTES = 640
"""More than a permission takes in a policy: 128 for the stack's name, thrice, and 250 for the rest."""
ROUTES = {
    "POST /events": "IngestFunction",
    "GET /{proxy+}": "ReadFunction",
    "POST /bank-files": "ReadFunction",
    "POST /csv/{proxy+}": "ReadFunction",
    "POST /rerating": "ReadFunction",
    **dict.fromkeys(["POST /{proxy+}", "PUT /{proxy+}", "DELETE /{proxy+}"], "WriteFunction"),
}
STATIC = {"GET /", "HEAD /", "GET /console/{proxy+}", "GET /assets/{proxy+}"}
"""The routes of the people's API that need no token."""


def operations(stack: Stack) -> dict[str, Properties]:
    """Return the API's operations by method and path."""
    paths: dict[str, dict[str, Any]] = stack.of("AWS::ApiGatewayV2::Api")["HttpApi"]["Body"]["paths"]
    return {
        f"{method.upper()} {path}": operation
        for path, methods in paths.items()
        for method, operation in methods.items()
    }


def test_the_routes_lead_where_they_should(stack: Stack) -> None:
    for route, operation in operations(stack).items():
        assert f"${{{ROUTES[route]}Aliaslive}}" in operation["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]
    assert operations(stack).keys() == ROUTES.keys()


def test_the_api_may_invoke_what_its_routes_lead_to(stack: Stack) -> None:
    permitted = {
        (one["SourceArn"]["Fn::Sub"][0].rpartition("${__Stage__}/")[2], aliased(one["FunctionName"]))
        for one in stack.of("AWS::Lambda::Permission").values()
        if {"__ApiId__": {"Ref": "HttpApi"}, "__Stage__": "*"} in listed(one["SourceArn"]["Fn::Sub"])
    }
    assert permitted == {
        (re.sub(r"{\w+\+?}", "*", route).replace(" ", ""), function) for route, function in ROUTES.items()
    }


def test_the_policy_of_no_function_outgrows_what_lambda_takes(stack: Stack) -> None:
    permissions = Counter(aliased(one["FunctionName"]) for one in stack.of("AWS::Lambda::Permission").values())
    assert max(permissions.values()) * STATEMENT_BYTES <= 20_480


def test_a_warning_about_the_api_stops_no_deployment(stack: Stack) -> None:
    """API Gateway may warn of what SAM generates, which no change here would avoid."""
    assert not stack.of("AWS::ApiGatewayV2::Api")["HttpApi"].get("FailOnWarnings")


def test_no_route_is_open_to_strangers(stack: Stack) -> None:
    assert [route for route, one in operations(stack).items() if one.get("security") != [{"AWS_IAM": []}]] == []
    schemes = stack.of("AWS::ApiGatewayV2::Api")["HttpApi"]["Body"]["components"]["securitySchemes"]
    assert schemes["AWS_IAM"]["x-amazon-apigateway-authtype"] == "awsSigv4"


def of_api(stack: Stack, kind: str, api: str) -> dict[str, Properties]:
    """Return the resources of a kind that belong to an API."""
    found = stack.of(f"AWS::ApiGatewayV2::{kind}").items()
    return {name: one for name, one in found if one["ApiId"] == {"Ref": api}}


def test_there_are_an_api_of_machines_one_of_people_and_one_of_connections(stack: Stack) -> None:
    assert sorted(stack.of("AWS::ApiGatewayV2::Api")) == ["ConnectionsApi", "HttpApi", "PeopleApi"]


class TestTheApiOfConnections:
    def test_has_one_open_route_and_is_there_only_with_the_intake(self, stack: Stack) -> None:
        (route,) = of_api(stack, "Route", "ConnectionsApi").values()
        assert (route["RouteKey"], route["AuthorizationType"]) == ("POST /connections/{name}", "NONE")
        parts = [name for kind in ("Route", "Integration", "Stage") for name in of_api(stack, kind, "ConnectionsApi")]
        assert {stack.resources[name]["Condition"] for name in ("ConnectionsApi", *parts)} == {"TakesIn"}

    def test_has_limits_of_its_own_below_those_of_the_machines(self, stack: Stack) -> None:
        (stage,) = of_api(stack, "Stage", "ConnectionsApi").values()
        assert (stage["StageName"], stage["AutoDeploy"]) == ("$default", True)
        settings = stage["DefaultRouteSettings"]
        assert settings["ThrottlingRateLimit"] < 500
        assert settings["ThrottlingBurstLimit"] < 1000
        log = stage["AccessLogSettings"]
        assert log["DestinationArn"] == {"Fn::GetAtt": ["AccessLogGroup", "Arn"]}
        assert json.loads(log["Format"])["requestId"] == "$context.requestId"

    def test_may_invoke_the_function_of_its_route(self, stack: Stack) -> None:
        (integration,) = of_api(stack, "Integration", "ConnectionsApi").values()
        (permission,) = (
            one
            for one in stack.of("AWS::Lambda::Permission").values()
            if "${ConnectionsApi}" in str(one.get("SourceArn"))
        )
        assert aliased(integration["IntegrationUri"]) == aliased(permission["FunctionName"]) == "ConnectionsFunction"
        assert permission["SourceArn"]["Fn::Sub"].endswith("${ConnectionsApi}/$default/POST/connections/{name}")


class TestThePeoplesApi:
    def test_is_there_only_with_an_issuer(self, stack: Stack) -> None:
        kinds = ("Route", "Integration", "Authorizer")
        parts = [name for kind in kinds for name in of_api(stack, kind, "PeopleApi")]
        assert len(parts) > len(kinds)
        assert {stack.resources[name]["Condition"] for name in ("PeopleApi", "PeopleStage", *parts)} == {"PeopleSignIn"}

    def test_opens_no_route_without_a_token_but_those_of_static_files(self, stack: Stack) -> None:
        static = set()
        for route in of_api(stack, "Route", "PeopleApi").values():
            if route["AuthorizationType"] == "NONE":
                static.add(route["RouteKey"])
                assert route["Target"] == {"Fn::Sub": "integrations/${PeopleConsoleIntegration}"}
            else:
                assert (route["AuthorizationType"], route["AuthorizerId"]) == ("JWT", {"Ref": "PeopleAuthorizer"})
        assert static == STATIC

    def test_takes_few_requests_without_a_token(self, stack: Stack) -> None:
        (stage,) = (
            one for one in stack.of("AWS::ApiGatewayV2::Stage").values() if one["ApiId"] == {"Ref": "PeopleApi"}
        )
        rates = {route: settings["ThrottlingRateLimit"] for route, settings in stage["RouteSettings"].items()}
        assert rates == dict.fromkeys(STATIC, 20)

    def test_has_a_route_before_its_settings(self, stack: Stack) -> None:
        earlier = stack.resources["PeopleStage"]["DependsOn"]
        routes = stack.of("AWS::ApiGatewayV2::Route")
        settings = stack.of("AWS::ApiGatewayV2::Stage")["PeopleStage"]["RouteSettings"]
        assert {routes[name]["RouteKey"] for name in earlier} == settings.keys()

    def test_serves_static_files_by_a_function_that_can_read_no_data(self, stack: Stack) -> None:
        invoked = stack.of("AWS::ApiGatewayV2::Integration")["PeopleConsoleIntegration"]["IntegrationUri"]
        assert [one["Sid"] for one in stack.statements(aliased(invoked))] == ["Log"]

    def test_takes_the_issuers_tokens_for_the_audience_from_the_usual_header(self, stack: Stack) -> None:
        (authorizer,) = stack.of("AWS::ApiGatewayV2::Authorizer").values()
        assert authorizer["JwtConfiguration"] == {"Issuer": {"Ref": "JwtIssuer"}, "Audience": [{"Ref": "JwtAudience"}]}
        assert authorizer["IdentitySource"] == ["$request.header.Authorization"]

    def test_may_invoke_the_functions_that_its_routes_lead_to(self, stack: Stack) -> None:
        integrations = of_api(stack, "Integration", "PeopleApi").values()
        invoked = {aliased(one["IntegrationUri"]) for one in integrations}
        permitted = [
            one["FunctionName"]["Ref"]
            for one in stack.of("AWS::Lambda::Permission").values()
            if "${PeopleApi}" in str(one.get("SourceArn"))
        ]
        assert invoked == {name.removesuffix("Aliaslive") for name in permitted}
        assert set(permitted) - {"ConsoleFunction"} <= stack.of("AWS::Lambda::Alias").keys()


@pytest.mark.parametrize("name", ["HttpApi", "PeopleApi"])
class TestEachApi:
    def stage(self, stack: Stack, name: str) -> Properties:
        (stage,) = (one for one in stack.of("AWS::ApiGatewayV2::Stage").values() if one["ApiId"] == {"Ref": name})
        return stage

    def test_serves_at_its_address_what_was_deployed_last(self, stack: Stack, name: str) -> None:
        stage = self.stage(stack, name)
        assert (stage["StageName"], stage["AutoDeploy"]) == ("$default", True)

    def test_throttles_a_flood(self, stack: Stack, name: str) -> None:
        stage = self.stage(stack, name)
        of_routes = stage.get("RouteSettings", {})
        assert of_routes.keys() <= ROUTES.keys() | STATIC
        for settings in (stage["DefaultRouteSettings"], *of_routes.values()):
            assert settings["ThrottlingBurstLimit"] == 1000
        for settings in (stage["DefaultRouteSettings"], *(of_routes[one] for one in of_routes.keys() - STATIC)):
            assert settings["ThrottlingRateLimit"] == {"Ref": "ThrottleRate"}

    def test_logs_every_access_as_json(self, stack: Stack, name: str) -> None:
        settings = self.stage(stack, name)["AccessLogSettings"]
        assert settings["DestinationArn"] == {"Fn::GetAtt": ["AccessLogGroup", "Arn"]}
        assert json.loads(settings["Format"])["requestId"] == "$context.requestId"
