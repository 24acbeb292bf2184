"""What holds money or what a function gave up on: kept, encrypted, closed."""

import pytest

from tests.support.cases import cases
from tests.template.stack import Properties, Stack, arn_of, listed

TABLES = {
    "IdentityTable": ["event"],
    "LedgerTable": ["quarter_hour", "position"],
    "EntityTable": ["pk", "sk"],
    "VaultTable": ["pk", "sk"],
}
STREAMS = {"LedgerTable": "NEW_IMAGE", "EntityTable": "NEW_AND_OLD_IMAGES"}
FORGETFUL = ["IdentityTable", "EntityTable"]
QUEUES = [
    "ParkedQueue",
    "DeadLetterQueue",
    "IntakeQueue",
    "InboxQueue",
    "IntakeParkedQueue",
    "IntakeDeadLetterQueue",
    "NotificationQueue",
    "NotificationDeadLetterQueue",
]
BUCKETS = ["ReportBucket", "ReportAccessBucket", "InboxBucket", "WarehouseBucket"]
TWO_WEEKS = 14 * 24 * 3600


def test_the_stores_are_those_known_here(stack: Stack) -> None:
    assert sorted(stack.of("AWS::DynamoDB::Table")) == sorted(TABLES)
    assert sorted(stack.of("AWS::SQS::Queue")) == sorted(QUEUES)
    assert sorted(stack.of("AWS::S3::Bucket")) == sorted(BUCKETS)


@cases("name", [*TABLES, *QUEUES, *BUCKETS, *(f"{bucket}Policy" for bucket in BUCKETS)])
def test_no_update_or_deletion_of_the_stack_deletes_it(stack: Stack, name: str) -> None:
    resource = stack.resources[name]
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


@pytest.mark.parametrize("name", TABLES)
class TestEachTable:
    def table(self, stack: Stack, name: str) -> Properties:
        return stack.of("AWS::DynamoDB::Table")[name]

    def test_is_protected_encrypted_and_recoverable(self, stack: Stack, name: str) -> None:
        table = self.table(stack, name)
        assert table["DeletionProtectionEnabled"] is True
        # Without a specification, DynamoDB encrypts with a key that AWS owns, and nobody pays for requests to KMS.
        assert "SSESpecification" not in table
        # A copy of the vault would bring back who was forgotten.
        bound = {"RecoveryPeriodInDays": 7} if name == "VaultTable" else {}
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True, **bound}
        assert table["BillingMode"] == "PAY_PER_REQUEST"

    def test_has_the_designs_keys(self, stack: Stack, name: str) -> None:
        table = self.table(stack, name)
        assert [one["AttributeName"] for one in table["KeySchema"]] == TABLES[name]

    def test_has_the_designs_stream(self, stack: Stack, name: str) -> None:
        stream = self.table(stack, name).get("StreamSpecification", {})
        assert stream.get("StreamViewType") == STREAMS.get(name)

    def test_forgets_only_where_the_design_says_so(self, stack: Stack, name: str) -> None:
        expected = {"AttributeName": "expires_at", "Enabled": True} if name in FORGETFUL else None
        assert self.table(stack, name).get("TimeToLiveSpecification") == expected


@cases("name", QUEUES)
def test_each_queue_is_encrypted_and_keeps_as_long_as_it_can(stack: Stack, name: str) -> None:
    queue = stack.of("AWS::SQS::Queue")[name]
    assert (queue["SqsManagedSseEnabled"], queue["MessageRetentionPeriod"]) == (True, TWO_WEEKS)


@pytest.mark.parametrize("name", [queue for queue in QUEUES if queue.endswith("ParkedQueue")])
def test_a_parked_record_may_be_as_large_as_any_message(stack: Stack, name: str) -> None:
    """A queue keeps the limit with which it was made, unless the template names one: that was 256 KB."""
    assert stack.of("AWS::SQS::Queue")[name]["MaximumMessageSize"] == 1 << 20


def test_no_run_receives_a_parked_message_twice(stack: Stack) -> None:
    """A received message stays hidden for as long as the function that received it can run."""
    hidden = {}
    for function, properties in stack.of("AWS::Lambda::Function").items():
        for statement in stack.statements(function):
            if "sqs:ReceiveMessage" in listed(statement["Action"]) and statement["Sid"] != "ReadQueues":
                for queue in map(arn_of, listed(statement["Resource"])):
                    hidden[queue] = stack.of("AWS::SQS::Queue")[queue]["VisibilityTimeout"]
                    assert hidden[queue] >= properties["Timeout"], f"{function} may receive from {queue} twice"
    assert hidden.keys() == {queue for queue in QUEUES if queue.endswith("ParkedQueue")}


@pytest.mark.parametrize("name", BUCKETS)
class TestEachS3Bucket:
    def test_is_closed_and_encrypted(self, stack: Stack, name: str) -> None:
        bucket = stack.of("AWS::S3::Bucket")[name]
        assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
        assert len(bucket["PublicAccessBlockConfiguration"]) == 4
        assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
        assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]

    def test_is_reached_by_tls_only(self, stack: Stack, name: str) -> None:
        statement = statements(stack, name)["TlsOnly"]
        assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": False}}
        assert len(statement["Resource"]) == 2


def statements(stack: Stack, bucket: str) -> dict[str, Properties]:
    """Return what a bucket's policy says, by the statements' names."""
    policy = stack.of("AWS::S3::BucketPolicy")[f"{bucket}Policy"]
    assert policy["Bucket"] == {"Ref": bucket}
    return {one["Sid"]: one for one in policy["PolicyDocument"]["Statement"]}


class TestTheSealedFiles:
    def test_keep_every_version_for_ever(self, stack: Stack) -> None:
        bucket = stack.of("AWS::S3::Bucket")["ReportBucket"]
        assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
        (rule,) = bucket["LifecycleConfiguration"]["Rules"]
        assert rule["Prefix"] == "work/", "what the steps of a statement run pass on is not sealed"

    def test_are_read_by_scripts_of_the_console_alone(self, stack: Stack) -> None:
        condition, configuration, otherwise = stack.of("AWS::S3::Bucket")["ReportBucket"]["CorsConfiguration"]["Fn::If"]
        (rule,) = configuration["CorsRules"]
        ((address,),) = (list(one.values()) for one in rule["AllowedOrigins"])
        assert (condition, rule["AllowedMethods"], otherwise) == ("PeopleSignIn", ["GET"], {"Ref": "AWS::NoValue"})
        assert address.startswith("https://${PeopleApi}.execute-api.")

    def test_are_written_over_by_nobody(self, stack: Stack) -> None:
        statement = statements(stack, "ReportBucket")["SealedOnce"]
        assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:PutObject")
        assert statement["Condition"] == {
            "Null": {"s3:if-none-match": True},
            "Bool": {"s3:ObjectCreationOperation": True},
        }
        assert [one["Fn::Sub"].partition("}")[2] for one in statement["Resource"]] == [
            "/ledger/*",
            "/reports/*",
            "/statements/*",
            "/totals/*",
            "/rates/*",
        ]

    def test_log_their_readers_for_as_long_as_all_logs_are_kept(self, stack: Stack) -> None:
        bucket, log = (stack.of("AWS::S3::Bucket")[name] for name in BUCKETS[:2])
        assert bucket["LoggingConfiguration"] == {"DestinationBucketName": {"Ref": "ReportAccessBucket"}}
        (rule,) = log["LifecycleConfiguration"]["Rules"]
        assert (rule["Status"], rule["ExpirationInDays"]) == ("Enabled", {"Ref": "LogRetentionDays"})
        delivery = statements(stack, "ReportAccessBucket")["DeliverLogs"]
        assert delivery["Principal"] == {"Service": "logging.s3.amazonaws.com"}
        assert delivery["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}

    def test_takes_nothing_from_a_report_but_sealed_files(self, stack: Stack) -> None:
        writers = [
            name
            for name in stack.of("AWS::Lambda::Function")
            if any("s3:PutObject" in one["Action"] for one in stack.statements(name))
        ]
        removers = [
            (action, leading_keys(one))
            for name in stack.of("AWS::Lambda::Function")
            for one in stack.statements(name)
            for action in listed(one["Action"])
            if "s3:Delete" in action or "dynamodb:Delete" in action
        ]
        assert sorted(writers) == ["IntakeFunction", "ReportFunction", "StatementsFunction"]
        (results,) = (one for one in stack.statements("IntakeFunction") if "s3:PutObject" in one["Action"])
        written = [{"Fn::Sub": f"${{InboxBucket.Arn}}/{prefix}/*"} for prefix in ("results", "seen")]
        assert results["Resource"] == written
        # A held event is deleted once it is in the ledger; its identity stays.
        assert {action for action, _ in removers} == {"dynamodb:DeleteItem"}
        # Of a subscription nothing is needed any more, and a customer who is forgotten has neither key nor name.
        # IAM may check a transaction's deletions with the key of the log that it writes.
        # What was parked is recorded by then, or was discarded.
        of_connections = ("PARKED#", "PARKED-CONTENT#", "CONNECTIONS", "CONNECTION-STATES")
        kinds = ("HELD#", *of_connections, "SUBSCRIPTIONS", "NAME#", "TOKEN#", "FORGOTTEN")
        assert all(key.startswith(kinds) for _, keys in removers for key in keys or [""])


def leading_keys(statement: Properties) -> list[str]:
    """Return the patterns of the partition keys that a statement is about."""
    (condition,) = statement.get("Condition", {"": {}}).values()
    keys: list[str] = condition.get("dynamodb:LeadingKeys", [])
    return keys
