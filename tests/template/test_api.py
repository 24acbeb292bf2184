"""The HTTP API: every route known, none open to strangers."""

import json
from typing import Any

from tests.template.stack import Properties, Stack

ACCOUNT = "/accounts/{agency}/{currency}"
ROUTES = {
    "POST /events": "IngestFunction",
    "GET /events": "ApiFunction",
    f"GET {ACCOUNT}": "ApiFunction",
    f"GET {ACCOUNT}/quarters": "ApiFunction",
    f"GET {ACCOUNT}/days": "ApiFunction",
    f"GET {ACCOUNT}/snapshots": "ApiFunction",
    f"GET {ACCOUNT}/trend": "ApiFunction",
    "GET /windows/{layer}/{start}": "ApiFunction",
    "GET /reports": "ApiFunction",
    "GET /reports/{run}": "ApiFunction",
}


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
        assert f"${{{ROUTES[route]}.Arn}}" in operation["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]
    assert operations(stack).keys() == ROUTES.keys()


def test_no_route_is_open_to_strangers(stack: Stack) -> None:
    assert [route for route, one in operations(stack).items() if one.get("security") != [{"AWS_IAM": []}]] == []
    schemes = stack.of("AWS::ApiGatewayV2::Api")["HttpApi"]["Body"]["components"]["securitySchemes"]
    assert schemes["AWS_IAM"]["x-amazon-apigateway-authtype"] == "awsSigv4"


def test_a_flood_is_throttled(stack: Stack) -> None:
    (stage,) = stack.of("AWS::ApiGatewayV2::Stage").values()
    settings = stage["DefaultRouteSettings"]
    assert settings["ThrottlingRateLimit"] == {"Ref": "ThrottleRate"}
    assert settings["ThrottlingBurstLimit"] == {"Ref": "ThrottleBurst"}


def test_every_access_is_logged_as_json(stack: Stack) -> None:
    (stage,) = stack.of("AWS::ApiGatewayV2::Stage").values()
    assert stage["AccessLogSettings"]["DestinationArn"] == {"Fn::GetAtt": ["AccessLogGroup", "Arn"]}
    assert json.loads(stage["AccessLogSettings"]["Format"])["requestId"] == "$context.requestId"
