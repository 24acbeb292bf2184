"""The AWS clients of the functions, with their configuration."""

import os
from typing import TYPE_CHECKING, Final, Literal

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_sqs import SQSClient

# Tests validate the request builders, so boto3 need not. A call that hangs must not use up the function's time.
_CONFIG: Final = Config(
    parameter_validation=False,
    connect_timeout=2,
    read_timeout=10,
    retries={"mode": "standard", "max_attempts": 3},
    max_pool_connections=32,
    user_agent_extra="quarterhour",
)
_ONCE: Final = _CONFIG.merge(Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 1}))


def dynamodb() -> "DynamoDBClient":
    """Return a DynamoDB client."""
    return boto3.client("dynamodb", config=_CONFIG)


def dynamodb_once() -> "DynamoDBClient":
    """Return a DynamoDB client that sends each call once, without retries, and times out after 3 seconds.

    Requests that carry the current time need it: the write takes effect within 3 seconds of that time, or never.
    """
    return boto3.client("dynamodb", config=_ONCE)


def s3() -> "S3Client":
    """Return an S3 client that presigns links for the bucket's region."""
    # By default, boto3 signs links for the global host. That host redirects, which breaks the signature, or refuses.
    style: Literal["path", "virtual"] = "path" if os.environ.get("AWS_ENDPOINT_URL_S3") else "virtual"
    own = Config(read_timeout=60, signature_version="s3v4", s3={"addressing_style": style})
    return boto3.client("s3", config=_CONFIG.merge(own))


def sqs() -> "SQSClient":
    """Return an SQS client."""
    return boto3.client("sqs", config=_CONFIG)


def scheduler() -> "EventBridgeSchedulerClient":
    """Return an EventBridge Scheduler client."""
    return boto3.client("scheduler", config=_CONFIG)
