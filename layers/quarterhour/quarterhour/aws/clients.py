"""The AWS clients of the functions, with their configuration."""

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

import botocore
from botocore.config import Config
from botocore.session import Session, get_session

from quarterhour.aws.botocore_model import Descriptions

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_stepfunctions import SFNClient

# Tests validate the request builders, so botocore need not. A call that hangs must not use up the function's time.
# Each call is sent once: ``retries.py`` repeats it, and two layers of retries would multiply.
_CONFIG: Final = Config(
    parameter_validation=False,
    connect_timeout=2,
    read_timeout=10,
    retries={"total_max_attempts": 1},
    max_pool_connections=32,
    # botocore would put its own together again for each request, character by character.
    user_agent=f"quarterhour Botocore/{botocore.__version__}",
)
_BRIEF: Final = _CONFIG.merge(Config(connect_timeout=1, read_timeout=2))


@cache
def session() -> Session:
    """Return the botocore session of these clients; only it has our descriptions."""
    own = get_session()
    own.register_component("data_loader", Descriptions())
    return own


def dynamodb() -> "DynamoDBClient":
    """Return a DynamoDB client."""
    client: DynamoDBClient = _client("dynamodb", _CONFIG)
    return client


def dynamodb_once() -> "DynamoDBClient":
    """Return a DynamoDB client that sends each call once, without retries, and times out after 3 seconds.

    Requests that carry the current time need it: the write takes effect within 3 seconds of that time, or never.
    """
    client: DynamoDBClient = _client("dynamodb", _BRIEF)
    return client


def s3() -> "S3Client":
    """Return an S3 client that presigns links for the bucket's region."""
    # By default, botocore signs links for the global host. That host redirects, which breaks the signature, or refuses.
    # In us-east-1 it does so even with version 4, and the console may fetch from the region's host only.
    elsewhere = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    style: Literal["path", "virtual"] = "path" if elsewhere else "virtual"
    own = Config(
        read_timeout=60,
        signature_version="s3v4",
        s3={"addressing_style": style, "us_east_1_regional_endpoint": "regional"},
    )
    client: S3Client = _client("s3", _CONFIG.merge(own))
    return client


def sqs() -> "SQSClient":
    """Return an SQS client."""
    client: SQSClient = _client("sqs", _CONFIG)
    return client


def scheduler() -> "EventBridgeSchedulerClient":
    """Return an EventBridge Scheduler client."""
    client: EventBridgeSchedulerClient = _client("scheduler", _CONFIG)
    return client


def stepfunctions() -> "SFNClient":
    """Return a Step Functions client."""
    client: SFNClient = _client("stepfunctions", _CONFIG)
    return client


def events() -> "EventBridgeClient":
    """Return an EventBridge client."""
    client: EventBridgeClient = _client("events", _CONFIG)
    return client


def ssm() -> "SSMClient":
    """Return a client of Systems Manager."""
    client: SSMClient = _client("ssm", _CONFIG)
    return client


def _client(service: str, config: Config) -> Any:  # noqa: ANN401 - each service has its own type
    return session().create_client(service, config=config)
