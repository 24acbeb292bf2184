"""Clients that take items as JSON send and return what botocore's own pair do."""

import io
import json
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.model import ListShape, MapShape, StructureShape
from botocore.session import get_session
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws import clients
from quarterhour.aws.botocore_model import DOCUMENTS
from quarterhour.aws.items import from_item
from tests.support.cases import cases

CONFIG: Final = Config(parameter_validation=False, retries={"total_max_attempts": 1})
OWN: Final[dict[str, Any]] = {"region_name": "us-east-1", "aws_access_key_id": "none", "aws_secret_access_key": "none"}
OPERATIONS: Final = (
    "BatchExecuteStatement",
    "BatchGetItem",
    "BatchWriteItem",
    "DeleteItem",
    "DescribeTable",
    "GetItem",
    "PutItem",
    "Query",
    "Scan",
    "TransactWriteItems",
    "UpdateItem",
)
"""Every operation that the functions and the commands use."""

TEXT: Final = st.text(max_size=8)
NAMES: Final = st.from_regex(r"[a-z#:]{3,8}", fullmatch=True)
ATTRIBUTES: Final = st.recursive(
    st.one_of(
        st.fixed_dictionaries({"S": TEXT}),
        st.fixed_dictionaries({"N": st.decimals(allow_nan=False, allow_infinity=False).map(str)}),
        st.fixed_dictionaries({"BOOL": st.booleans()}),
        st.fixed_dictionaries({"NULL": st.just(value=True)}),
        st.fixed_dictionaries({"SS": st.lists(TEXT, max_size=2)}),
        st.fixed_dictionaries({"NS": st.lists(st.integers().map(str), max_size=2)}),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"L": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"M": st.dictionaries(TEXT, inner, max_size=3)}),
    ),
    max_leaves=5,
)
SCALARS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "boolean": st.booleans(),
    "double": st.floats(min_value=0, max_value=1e6),
    "integer": st.integers(0, 10**9),
    "long": st.integers(0, 10**15),
    "string": NAMES,
    "timestamp": st.integers(0, 2 * 10**9),
}


class ClientPair:
    """botocore's own client and ours, and the network that both are connected to."""

    def __init__(self) -> None:
        self.status, self.body, self.sent = 200, b"", b""
        plain = get_session()
        own = clients.session.__wrapped__()
        self.plain: Any = plain.create_client("dynamodb", config=CONFIG, **OWN)
        self.ours: Any = own.create_client("dynamodb", config=CONFIG, **OWN)
        for client in (self.plain, self.ours):
            client.meta.events.register("before-send.dynamodb", self._answer)

    def _answer(self, request: AWSPreparedRequest, **_: object) -> Any:
        body: Any = request.body
        self.sent = body
        headers: Any = {"x-amzn-requestid": "request", "content-type": "application/x-amz-json-1.0"}
        return AWSResponse(request.url, self.status, headers, Raw(self.body))

    def model(self, operation: str) -> Any:
        return self.plain.meta.service_model.operation_model(operation)

    def token(self, operation: str) -> dict[str, str]:
        """Return the token of an operation that takes one; otherwise botocore makes up a new one for each call."""
        return dict.fromkeys(self.model(operation).input_shape.members.keys() & {"ClientRequestToken"}, "token")

    def both(self, operation: str, parameters: dict[str, Any]) -> tuple[Any, Any]:
        """Return what becomes of a call, by botocore's client and by ours: the body sent, result or error."""
        plain, ours = (self._outcome(client, operation, parameters) for client in (self.plain, self.ours))
        return plain, ours

    def _outcome(self, client: Any, operation: str, parameters: dict[str, Any]) -> Any:
        try:
            result = getattr(client, METHODS[operation])(**parameters)
        except ClientError as error:
            return json.loads(self.sent), type(error).__name__, str(error), error.response
        return json.loads(self.sent), result


class Raw(io.BytesIO):
    """A body with urllib3's interface."""

    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.getvalue()


METHODS: Final = {
    operation: "".join(f"_{c.lower()}" if c.isupper() else c for c in operation)[1:] for operation in OPERATIONS
}


def values(shape: Any) -> st.SearchStrategy[Any]:
    """Return values that a shape of botocore's description allows; every member may be missing."""
    if shape.name == "AttributeValue":
        return ATTRIBUTES
    match shape:
        case StructureShape():
            members = {name: values(member) for name, member in shape.members.items()}
            required = {name: members.pop(name) for name in shape.required_members}
            return st.fixed_dictionaries(required, optional=members)
        case ListShape():
            return st.lists(values(shape.member), max_size=2)
        case MapShape():
            return st.dictionaries(NAMES, values(shape.value), max_size=2)
        case _:
            return st.sampled_from(shape.enum) if shape.metadata.get("enum") else SCALARS[shape.type_name]


def shapes_of(operation: Any) -> set[str]:
    """Return the names of the shapes that an operation's request and response consist of; a document is one shape."""
    found: set[str] = set()
    waiting: list[Any] = [operation.input_shape, operation.output_shape]
    while waiting:
        shape = waiting.pop()
        if shape.name in found:
            continue
        found.add(shape.name)
        match shape:
            case StructureShape():
                waiting += shape.members.values()
            case ListShape():
                waiting.append(shape.member)
            case MapShape():
                waiting.append(shape.value)
    return found


@pytest.fixture(scope="module")
def pair() -> ClientPair:
    return ClientPair()


@pytest.mark.parametrize("operation", OPERATIONS)
@given(data=st.data())
def test_a_request_and_its_result_are_those_of_botocore(pair: ClientPair, operation: str, data: st.DataObject) -> None:
    model = pair.model(operation)
    pair.status, pair.body = 200, json.dumps(data.draw(values(model.output_shape))).encode()
    plain, ours = pair.both(operation, {**data.draw(values(model.input_shape)), **pair.token(operation)})
    assert ours == plain


ERRORS: Final = {
    "BatchExecuteStatement": ("RequestLimitExceeded", "InternalServerError"),
    "PutItem": ("ConditionalCheckFailedException", "ProvisionedThroughputExceededException"),
    "Query": ("ThrottlingException", "ResourceNotFoundException"),
    "TransactWriteItems": ("TransactionCanceledException", "TransactionInProgressException"),
    "UpdateItem": ("ConditionalCheckFailedException", "TransactionConflictException"),
}
"""Errors of some operations, with and without further content."""


@pytest.mark.parametrize(("operation", "code"), [(name, code) for name, codes in ERRORS.items() for code in codes])
@given(data=st.data())
def test_an_error_is_that_of_botocore(pair: ClientPair, operation: str, code: str, data: st.DataObject) -> None:
    """Whatever it holds: the existing item of a failed condition, the reasons of a cancelled transaction."""
    shape = pair.plain.meta.service_model.shape_for_error_code(code)
    content = data.draw(values(shape)) if shape else {}
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "why", **content}
    pair.status, pair.body = data.draw(st.sampled_from([400, 500, 503])), json.dumps(body).encode()
    plain, ours = pair.both(operation, pair.token(operation))
    assert ours == plain
    assert isinstance(plain[1], str), "the call fails"


@cases("status", [200, 301, 400, 413, 500, 503])
@cases("body", [b"", b"{}", b"<html><body>Bad Gateway</body></html>", b"no JSON"])
def test_what_is_no_answer_of_the_service_is_taken_as_botocore_takes_it(
    pair: ClientPair, status: int, body: bytes
) -> None:
    pair.status, pair.body = status, body
    plain, ours = pair.both("Query", {"TableName": "table"})
    assert ours == plain


def test_binary_values_are_not_decoded_and_refused_when_they_are_read(pair: ClientPair) -> None:
    pair.status, pair.body = 200, b'{"Item":{"photo":{"B":"AAEC"}}}'
    item = pair.ours.get_item(TableName="table", Key={"pk": {"S": "1"}})["Item"]
    with pytest.raises(TypeError, match="attributes of type B are not supported"):
        from_item(item)
    pair.ours.put_item(TableName="table", Item=item)
    assert json.loads(pair.sent)["Item"] == {"photo": {"B": "AAEC"}}, "a copy holds the same bytes"
    with pytest.raises(TypeError, match="bytes"):
        pair.ours.put_item(TableName="table", Item={"photo": {"B": b"\x00\x01\x02"}})


def test_no_operation_walks_the_shapes_of_an_item(pair: ClientPair) -> None:
    model: Any = pair.ours.meta.service_model
    walked = {name for operation in OPERATIONS for name in shapes_of(model.operation_model(operation))}
    assert "AttributeValue" in DOCUMENTS
    assert walked >= {"ItemList", "PartiQLBatchRequest", "ExpressionAttributeValueMap"}
    assert {name for name in walked if "S" in getattr(model.shape_for(name), "members", {})} == set()


def test_other_sessions_keep_botocores_description(pair: ClientPair) -> None:
    ours, theirs = (client.meta.service_model.shape_for("ItemList") for client in (pair.ours, pair.plain))
    assert (ours.type_name, theirs.type_name) == ("structure", "list")


WAYS: Final[list[tuple[str, Any]]] = [
    *((one, {}) for one in get_session().get_available_partitions()),
    ("aws", {"use_fips_endpoint": True}),
    ("aws", {"use_dualstack_endpoint": True}),
]


@pytest.fixture(scope="module")
def sessions() -> tuple[Any, Any]:
    """A plain session and one of ours. A session reads botocore's files once, however many clients it creates."""
    return get_session(), clients.session.__wrapped__()


@cases(("partition", "way"), WAYS)
def test_a_call_goes_where_botocore_sends_it_and_is_signed_for_the_same_region(
    sessions: tuple[Any, Any], partition: str, way: dict[str, Any]
) -> None:
    regions = sessions[0].get_available_regions("dynamodb", partition)
    for region in {*regions[:1], *regions[-1:]}:
        found: list[tuple[str, str]] = []
        for session in sessions:
            client: Any = session.create_client(
                "dynamodb", config=CONFIG.merge(Config(**way)), **{**OWN, "region_name": region}
            )
            client.meta.events.register("before-send.dynamodb", partial(_noted, found))
            client.describe_table(TableName="t")
        assert found[0] == found[1]


def _noted(found: list[tuple[str, str]], request: AWSPreparedRequest, **_: object) -> AWSResponse:
    authorization: Any = request.headers["Authorization"]
    found.append((request.url, authorization.decode().partition("Credential=")[2].split(", ")[0]))
    headers: Any = {"content-type": "application/x-amz-json-1.0"}
    return AWSResponse(request.url, 200, headers, Raw(b"{}"))
