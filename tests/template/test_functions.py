"""What every function of the stack must have: a narrow role, a log, and a place for what it gives up on."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import pytest

from quarterhour.intake.keys import INBOX
from tests.support.repository import ROOT
from tests.template.stack import Properties, Stack, aliased, arn_of, listed

FUNCTIONS = [
    "IngestFunction",
    "WriteFunction",
    "ReadFunction",
    "CountersFunction",
    "SnapshotsFunction",
    "ReportFunction",
    "StatementsFunction",
    "WatchFunction",
    "RepairFunction",
    "BillingFunction",
    "IntakeFunction",
    "NotifyFunction",
    "ConnectionsFunction",
    "ConsoleFunction",
]
REPORTS_SCHEDULE = (
    "arn:${AWS::Partition}:scheduler:${AWS::Region}:${AWS::AccountId}:schedule/default/quarterhour-${Stage}-report"
)
SEALING = "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:stateMachine:quarterhour-${Stage}-sealing"
REBUILDING = SEALING.replace("-sealing", "-rebuilding")
STATEMENT_RUNS = SEALING.replace("-sealing", "-statements")
REBUILDS = REBUILDING.replace(":stateMachine:", ":execution:") + ":*"
SECRETS = "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter/quarterhour/${Stage}/subscriptions/*"
CONNECTION_SECRETS = SECRETS.replace("/subscriptions/", "/connections/")
BUS = "arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/default"
NAMED = (REPORTS_SCHEDULE, SEALING, REBUILDING, REBUILDS, STATEMENT_RUNS, SECRETS, CONNECTION_SECRETS, BUS)
STACK_NAME = "quarterhour-" + "s" * 16
"""With a stage as long as the parameter permits."""
LONGEST_POLICY = 20_480
STREAMS = {"CountersFunction": "LedgerTable", "SnapshotsFunction": "EntityTable", "BillingFunction": "EntityTable"}
QUEUES = {"IntakeQueue": 500, "InboxQueue": 1}
"""The queues that the intake reads, and how many messages at most at a time."""


def test_the_functions_are_those_known_here(stack: Stack) -> None:
    assert sorted(stack.of("AWS::Lambda::Function")) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
class TestEachFunction:
    def test_runs_python_3_13_with_the_layer_on_the_chosen_processors(self, stack: Stack, name: str) -> None:
        function = stack.of("AWS::Lambda::Function")[name]
        layers = [one["Ref"] for one in function["Layers"]]
        assert (function["Runtime"], function["Architectures"]) == ("python3.13", [{"Ref": "Architecture"}])
        assert layers == list(stack.of("AWS::Lambda::LayerVersion"))

    def test_logs_json_into_a_group_that_forgets(self, stack: Stack, name: str) -> None:
        config = stack.of("AWS::Lambda::Function")[name]["LoggingConfig"]
        # Above INFO, Lambda would drop the metrics too, which are lines without a level.
        assert (config["LogFormat"], config["ApplicationLogLevel"]) == ("JSON", "DEBUG")
        group = stack.of("AWS::Lambda::Function")[name]["LoggingConfig"]["LogGroup"]["Ref"]
        assert stack.of("AWS::Logs::LogGroup")[group]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
        written = [one for one in stack.statements(name) if "logs:PutLogEvents" in listed(one["Action"])]
        assert [one["Resource"] for one in written] == [{"Fn::GetAtt": [group, "Arn"]}]

    def test_has_a_role_that_no_other_has(self, stack: Stack, name: str) -> None:
        roles = {name: arn_of(one["Role"]) for name, one in stack.of("AWS::Lambda::Function").items()}
        assert [function for function, role in roles.items() if role == roles[name]] == [name]
        managed = stack.of("AWS::IAM::Role")[roles[name]].get("ManagedPolicyArns", [])
        assert managed in ([], [{"Ref": "RecordsEvents"}]), "none of AWS's, which are too wide"

    def test_may_do_only_named_things(self, stack: Stack, name: str) -> None:
        actions = [action for one in stack.statements(name) for action in listed(one["Action"])]
        assert [action for action in actions if not re.fullmatch(r"[a-z0-9]+:[A-Za-z]+", action)] == []

    def test_may_touch_only_named_resources(self, stack: Stack, name: str) -> None:
        for one in stack.statements(name):
            for resource in listed(one["Resource"]):
                assert resource != "*"
                assert "Fn::GetAtt" in resource or re.fullmatch(
                    r"\$\{(?:EntityTable\.Arn\}/index/gsi[12]|ReportBucket\.Arn\}/(?:ledger|rates|reports|statements|totals|work)/\*(?:/manifest\.json)?|InboxBucket\.Arn\}/(?:inbox|maps|results|seen)/\*)"
                    rf"|{'|'.join(map(re.escape, NAMED))}",
                    resource["Fn::Sub"],
                )

    def test_may_touch_only_what_its_environment_names(self, stack: Stack, name: str) -> None:
        variables = stack.of("AWS::Lambda::Function")[name]["Environment"]["Variables"]
        named = {one["Ref"] for key, one in variables.items() if key.endswith(("_TABLE", "_BUCKET", "_QUEUE_URL"))}
        named |= {"ScheduleRole"} if "SCHEDULE_NAME" in variables else set()
        plumbing = {
            stack.of("AWS::Lambda::Function")[name]["LoggingConfig"]["LogGroup"]["Ref"],
            *(
                STREAMS.get(name, ""),
                *(QUEUES if name == "IntakeFunction" else ()),
                *(["NotificationQueue"] if name == "NotifyFunction" else ()),
                "DeadLetterQueue",
            ),
        }
        touched = {resource for one in stack.statements(name) for resource in resources(one)}
        assert touched - plumbing <= named

    def test_calls_the_endpoint_of_local_development(self, stack: Stack, name: str) -> None:
        variables = stack.of("AWS::Lambda::Function")[name]["Environment"]["Variables"]
        endpoints = {key: value for key, value in variables.items() if "ENDPOINT" in key}
        assert endpoints == {"AWS_ENDPOINT_URL": {"Ref": "LocalEndpoint"}}


def resources(statement: Properties) -> Iterator[str]:
    """Return the logical ids of the resources that a statement is about."""
    for resource in listed(statement["Resource"]):
        if "Fn::GetAtt" in resource:
            yield arn_of(resource)
        else:
            yield from re.findall(r"\$\{(\w+)\.Arn\}", resource["Fn::Sub"])


@pytest.mark.parametrize(("name", "table"), STREAMS.items())
class TestEachStreamFunction:
    def mapping(self, stack: Stack, name: str) -> Properties:
        (mapping,) = (
            one for one in stack.of("AWS::Lambda::EventSourceMapping").values() if one["FunctionName"] == {"Ref": name}
        )
        return mapping

    def test_reads_its_stream_in_order_and_from_the_beginning(self, stack: Stack, name: str, table: str) -> None:
        mapping = self.mapping(stack, name)
        assert mapping["EventSourceArn"] == {"Fn::GetAtt": [table, "StreamArn"]}
        assert (mapping["ParallelizationFactor"], mapping["StartingPosition"]) == (1, "TRIM_HORIZON")

    def test_stays_paused_through_an_update(self, stack: Stack, name: str, table: str) -> None:
        """An operator pauses it before the format of stored items changes; a deployment that set it would resume it."""
        assert "Enabled" not in self.mapping(stack, name), table

    def test_is_paused_by_the_commands_of_the_deployment_page(self, stack: Stack, name: str, table: str) -> None:
        (logical,) = (
            id_
            for id_, one in stack.of("AWS::Lambda::EventSourceMapping").items()
            if one["FunctionName"] == {"Ref": name}
        )
        page = (ROOT / "docs" / "deployment.md").read_text("utf-8")
        assert logical in page.partition("### Pausing the writers")[2].partition("\n## ")[0], table

    def test_tells_what_failed_and_retries_in_halves(self, stack: Stack, name: str, table: str) -> None:
        mapping = self.mapping(stack, name)
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"], table
        assert mapping["BisectBatchOnFunctionError"] is True

    def test_gives_up_in_the_end_but_within_the_streams_day(self, stack: Stack, name: str, table: str) -> None:
        mapping = self.mapping(stack, name)
        # As many retries as there can be, or an outage would use them up long before the stream's day is over.
        assert mapping["MaximumRetryAttempts"] == 10_000, table
        assert 12 * 3600 <= mapping["MaximumRecordAgeInSeconds"] < 24 * 3600

    def test_may_send_what_it_gives_up_on(self, stack: Stack, name: str, table: str) -> None:
        queue = arn_of(self.mapping(stack, name)["DestinationConfig"]["OnFailure"]["Destination"])
        assert queue == "DeadLetterQueue", table
        assert queue in {
            resource
            for one in stack.statements(name)
            if "sqs:SendMessage" in listed(one["Action"])
            for resource in resources(one)
        }

    def test_parks_apart_from_the_dead_letters(self, stack: Stack, name: str, table: str) -> None:
        variables = stack.of("AWS::Lambda::Function")[name]["Environment"]["Variables"]
        assert variables["PARKED_QUEUE_URL"] == {"Ref": "ParkedQueue"}, table


def test_the_routes_of_a_function_fit_into_its_policy(stack: Stack) -> None:
    """SAM adds a statement for each route to the policy of the function's alias, which Lambda limits."""
    sizes: Counter[str] = Counter()
    for name, permission in stack.of("AWS::Lambda::Permission").items():
        function = aliased(permission["FunctionName"])
        sizes[function] += len(json.dumps(statement_of(name, function, permission), separators=(",", ":")))
    assert {function: size for function, size in sizes.items() if size > LONGEST_POLICY} == {}


def statement_of(name: str, function: str, permission: Properties) -> Properties:
    """Return the statement that Lambda makes of a permission, with names as long as the documented ones can be."""
    places = "arn:aws:{}:ap-southeast-1:123456789012:{}".format
    source = permission["SourceArn"]["Fn::Sub"]
    path = (source if isinstance(source, str) else source[0]).rpartition("execute-api:")[2].partition("/")[2]
    called = f"{STACK_NAME}-{function}"[:51] + "-0123456789ab"
    return {
        "Sid": f"{STACK_NAME}-{name}-0123456789ab",
        "Effect": "Allow",
        "Principal": {"Service": "apigateway.amazonaws.com"},
        "Action": "lambda:InvokeFunction",
        "Resource": places("lambda", f"function:{called}:live"),
        "Condition": {"ArnLike": {"AWS:SourceArn": places("execute-api", f"0123456789/{path}")}},
    }


def test_a_layer_outlasts_the_update_that_replaces_it_so_that_a_function_can_go_back(stack: Stack) -> None:
    layers = [one for one in stack.resources.values() if one["Type"] == "AWS::Lambda::LayerVersion"]
    assert [(one["DeletionPolicy"], one["Properties"]["CompatibleArchitectures"]) for one in layers] == [
        ("Retain", [{"Ref": "Architecture"}])
    ]


def schedule_of(stack: Stack, function: str) -> Properties:
    """Return the schedule that starts a function."""
    (schedule,) = (
        one for one in stack.of("AWS::Scheduler::Schedule").values() if arn_of(one["Target"]["Arn"]) == function
    )
    return schedule


def allowed(stack: Stack, role: str) -> list[tuple[str, str]]:
    """Return what a role allows, and of which resource."""
    return [
        (one["Action"], arn_of(one["Resource"]))
        for policy in stack.of("AWS::IAM::Role")[role]["Policies"]
        for one in policy["PolicyDocument"]["Statement"]
    ]


class TestTheReportsSchedule:
    def test_follows_the_rate_and_retries_within_bounds(self, stack: Stack) -> None:
        schedule = schedule_of(stack, "ReportFunction")
        assert schedule["ScheduleExpression"] == {"Ref": "ReportRate"}
        assert 0 < schedule["Target"]["RetryPolicy"]["MaximumEventAgeInSeconds"] <= 86400

    def test_keeps_what_it_cannot_hand_over(self, stack: Stack) -> None:
        letters = schedule_of(stack, "ReportFunction")["Target"]["DeadLetterConfig"]["Arn"]
        assert arn_of(letters) == "DeadLetterQueue"

    def test_keeps_what_the_function_failed_on(self, stack: Stack) -> None:
        (config,) = stack.of("AWS::Lambda::EventInvokeConfig").values()
        assert config["FunctionName"] == {"Ref": "ReportFunction"}
        assert arn_of(config["DestinationConfig"]["OnFailure"]["Destination"]) == "DeadLetterQueue"

    def test_may_start_the_report_and_nothing_else(self, stack: Stack) -> None:
        role = arn_of(schedule_of(stack, "ReportFunction")["Target"]["RoleArn"])
        assert allowed(stack, role) == [
            ("lambda:InvokeFunction", "ReportFunction"),
            ("sqs:SendMessage", "DeadLetterQueue"),
        ]


class Machine(NamedTuple):
    """A state machine: its logical id, its function, and the function that starts it, with the variable of its ARN."""

    name: str
    function: str
    starter: str
    variable: str
    arn: str


MACHINES = [
    Machine("SealingMachine", "ReportFunction", "ReportFunction", "SEALING_ARN", SEALING),
    Machine("RebuildingMachine", "RepairFunction", "RepairFunction", "REBUILDING_ARN", REBUILDING),
    Machine("StatementMachine", "StatementsFunction", "WatchFunction", "STATEMENTS_ARN", STATEMENT_RUNS),
]


@pytest.mark.parametrize("machine", MACHINES, ids=[one.name for one in MACHINES])
class TestAStateMachine:
    def states(self, stack: Stack, machine: Machine) -> list[Properties]:
        """Return the states, those of the items of maps too."""
        text = stack.of("AWS::StepFunctions::StateMachine")[machine.name]["DefinitionString"]["Fn::Sub"]
        own = list(json.loads(text)["States"].values())
        return own + [item for one in own if one["Type"] == "Map" for item in one["ItemProcessor"]["States"].values()]

    def test_may_invoke_its_function_and_spread_its_own_items_and_nothing_else(
        self, stack: Stack, machine: Machine
    ) -> None:
        role = arn_of(stack.of("AWS::StepFunctions::StateMachine")[machine.name]["RoleArn"])
        (policy,) = stack.of("AWS::IAM::Role")[role]["Policies"]
        granted = {
            (action, str(next(iter(resource.values()))))
            for one in policy["PolicyDocument"]["Statement"]
            for action in listed(one["Action"])
            for resource in listed(one["Resource"])
        }
        executions = machine.arn.replace(":stateMachine:", ":execution:")
        assert granted == {
            ("lambda:InvokeFunction", f"['{machine.function}', 'Arn']"),
            ("states:StartExecution", machine.arn),
            *(
                (f"states:{action}", executions + rest)
                for action in ("DescribeExecution", "StopExecution")
                for rest in (":*", "/*")
            ),
        }

    def test_has_the_name_that_its_function_starts(self, stack: Stack, machine: Machine) -> None:
        properties = stack.of("AWS::StepFunctions::StateMachine")[machine.name]
        variables = stack.of("AWS::Lambda::Function")[machine.starter]["Environment"]["Variables"]
        assert machine.arn.endswith(properties["StateMachineName"]["Fn::Sub"])
        assert variables[machine.variable]["Fn::Sub"] == machine.arn

    def test_retries_only_what_passes_by_itself_and_catches_nothing(self, stack: Stack, machine: Machine) -> None:
        tasks = [one for one in self.states(stack, machine) if one["Type"] == "Task"]
        assert tasks
        for task in tasks:
            (retry,) = task["Retry"]
            assert "Catch" not in task
            assert all(name.startswith("Lambda.") or name == "UnavailableError" for name in retry["ErrorEquals"])
            assert "Lambda.Unknown" not in retry["ErrorEquals"], "an item out of time would be out of time again"
            assert retry["JitterStrategy"] == "FULL"

    def test_runs_eight_items_side_by_side(self, stack: Stack, machine: Machine) -> None:
        text = stack.of("AWS::StepFunctions::StateMachine")[machine.name]["DefinitionString"]["Fn::Sub"]
        assert text.count('"MaxConcurrency": 8') == text.count('"Type": "Map"')

    def test_stops_at_the_first_item_that_fails(self, stack: Stack, machine: Machine) -> None:
        maps = [one for one in self.states(stack, machine) if one["Type"] == "Map"]
        assert maps
        assert not {name for one in maps for name in one if name.startswith("Tolerated")}


class TestTheIntake:
    def mappings(self, stack: Stack) -> dict[str, Properties]:
        """Return its mappings by queue."""
        mappings = stack.of("AWS::Lambda::EventSourceMapping").values()
        own = [one for one in mappings if one["FunctionName"] == {"Ref": "IntakeFunction"}]
        return {arn_of(one["EventSourceArn"]): one for one in own}

    def test_reads_its_queues_and_says_which_messages_have_to_come_again(self, stack: Stack) -> None:
        mappings = self.mappings(stack)
        assert {name: one["BatchSize"] for name, one in mappings.items()} == QUEUES
        for one in mappings.values():
            assert one["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
            assert one["ScalingConfig"]["MaximumConcurrency"] >= 2
        # SQS takes more than ten messages a batch only with a window.
        assert mappings["IntakeQueue"]["MaximumBatchingWindowInSeconds"] >= 1

    def test_may_call_itself_by_its_queue_for_as_many_parts_as_a_file_has(self, stack: Stack) -> None:
        assert stack.of("AWS::Lambda::Function")["IntakeFunction"]["RecursiveLoop"] == "Allow"

    @pytest.mark.parametrize("name", QUEUES)
    def test_gets_a_message_again_for_days_and_no_message_while_it_may_still_work_on_it(
        self, stack: Stack, name: str
    ) -> None:
        queue = stack.of("AWS::SQS::Queue")[name]
        assert queue["VisibilityTimeout"] >= 6 * stack.of("AWS::Lambda::Function")["IntakeFunction"]["Timeout"]
        redrive = queue["RedrivePolicy"]
        assert arn_of(redrive["deadLetterTargetArn"]) == "IntakeDeadLetterQueue"
        assert queue["VisibilityTimeout"] * redrive["maxReceiveCount"] > 3 * 24 * 3600

    def test_parks_any_message_with_its_reason_however_its_letters_are_escaped(self, stack: Stack) -> None:
        queues = stack.of("AWS::SQS::Queue")
        assert 3 * queues["IntakeQueue"]["MaximumMessageSize"] < queues["IntakeParkedQueue"]["MaximumMessageSize"]

    def test_exists_only_if_it_is_on_and_so_does_all_that_it_needs(self, document: Properties) -> None:
        own = {
            name: one
            for name, one in document["Resources"].items()
            if re.match("Intake|Inbox|Connections|DeliveriesParked", name)
        }
        assert len(own) > 15
        assert {one.get("Condition") for one in own.values()} == {"TakesIn", "HasBus", "HasSendersOnBus"}
        assert document["Conditions"]["TakesIn"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "Intake"}, "off"]}]}
        assert document["Parameters"]["Intake"]["Default"] == "off"


class TestNotifications:
    def test_exist_only_if_they_are_on_and_so_does_all_that_they_need(self, document: Properties) -> None:
        own = {
            name: one
            for name, one in document["Resources"].items()
            if re.match("Notif|ParkedRule|SubscriptionsDisabled", name)
        }
        assert len(own) > 10
        assert {one.get("Condition") for one in own.values()} == {"Notifies"}
        assert document["Parameters"]["Notifications"]["Default"] == "off"

    def test_come_from_the_manifests_of_the_bucket_and_from_the_alarms_of_parked_records(self, stack: Stack) -> None:
        bucket = stack.of("AWS::S3::Bucket")["ReportBucket"]["NotificationConfiguration"]["QueueConfigurations"]
        rules = [{one["Name"]: one["Value"] for one in each["Filter"]["S3Key"]["Rules"]} for each in bucket]
        assert rules == [{"prefix": prefix, "suffix": "/manifest.json"} for prefix in ("reports/", "statements/")]
        policy = stack.of("AWS::SQS::QueuePolicy")["NotificationQueuePolicy"]["PolicyDocument"]["Statement"]
        allowed = {one["Principal"]["Service"] for one in policy if one["Effect"] == "Allow"}
        assert allowed == {"s3.amazonaws.com", "events.amazonaws.com"}
        assert all("Condition" in one for one in policy)

    def test_a_secret_is_written_by_one_function_and_read_by_another(self, stack: Stack) -> None:
        actions = {
            name: {action for one in stack.statements(name) for action in listed(one["Action"]) if "ssm:" in action}
            for name in FUNCTIONS
        }
        assert {name: one for name, one in actions.items() if one} == {
            "WriteFunction": {"ssm:PutParameter", "ssm:DeleteParameters"},
            "NotifyFunction": {"ssm:GetParameters"},
            "ConnectionsFunction": {"ssm:GetParameters"},
        }
        read = {
            name: one["Resource"]["Fn::Sub"]
            for name in ("NotifyFunction", "ConnectionsFunction")
            for one in stack.statements(name)
            if one["Sid"] == "ReadSecrets"
        }
        assert read == {"NotifyFunction": SECRETS, "ConnectionsFunction": CONNECTION_SECRETS}

    def test_no_message_is_delivered_again_while_the_function_may_still_work_on_it(self, stack: Stack) -> None:
        queue = stack.of("AWS::SQS::Queue")["NotificationQueue"]
        assert queue["VisibilityTimeout"] >= 6 * stack.of("AWS::Lambda::Function")["NotifyFunction"]["Timeout"]
        assert arn_of(queue["RedrivePolicy"]["deadLetterTargetArn"]) == "NotificationDeadLetterQueue"


class TestWhoSendsToTheIntake:
    OTHERS: ClassVar[Properties] = {"AWS": {"Fn::Split": [",", {"Ref": "IntakeSenders"}]}}

    def statements(self, stack: Stack, name: str) -> dict[str, Properties]:
        """Return the statements of a queue's policy by their names."""
        policy = stack.of("AWS::SQS::QueuePolicy")[f"{name}Policy"]
        assert policy["Queues"] == [{"Ref": name}]
        found = policy["PolicyDocument"]["Statement"]
        assert {arn_of(one["Resource"]) for one in found} == {name}
        return {one["Sid"]: one for one in found}

    @pytest.mark.parametrize("name", ["IntakeQueue", "InboxQueue", "IntakeDeadLetterQueue"])
    def test_uses_tls(self, stack: Stack, name: str) -> None:
        tls = self.statements(stack, name)["TlsOnly"]
        assert (tls["Effect"], tls["Principal"], tls["Action"]) == ("Deny", "*", "sqs:*")
        assert tls["Condition"] == {"Bool": {"aws:SecureTransport": False}}

    def test_may_send_to_the_queue_if_it_is_named_and_only_send(self, stack: Stack, document: Properties) -> None:
        others = self.statements(stack, "IntakeQueue")["FromOthers"]
        assert (others["Principal"], others["Action"]) == (self.OTHERS, ["sqs:SendMessage", "sqs:GetQueueUrl"])
        written = document["Resources"]["IntakeQueuePolicy"]["Properties"]["PolicyDocument"]["Statement"]
        assert [one["Fn::If"][0] for one in written if "Fn::If" in one] == ["HasBus", "HasSenders"]
        named = {"Fn::Not": [{"Fn::Equals": [{"Ref": "IntakeSenders"}, ""]}]}
        assert document["Conditions"]["HasSenders"]["Fn::And"][1] == named

    def test_may_upload_files_if_it_is_named_and_read_none(self, stack: Stack) -> None:
        found = stack.of("AWS::S3::BucketPolicy")["InboxBucketPolicy"]["PolicyDocument"]["Statement"]
        upload = {one["Sid"]: one for one in found}["Upload"]
        assert (upload["Principal"], upload["Action"]) == (self.OTHERS, ["s3:PutObject", "s3:AbortMultipartUpload"])
        assert upload["Resource"] == {"Fn::Sub": "${InboxBucket.Arn}/inbox/*"}

    def test_may_put_events_of_the_one_kind_on_the_bus_if_it_is_named(self, stack: Stack) -> None:
        bus = stack.of("AWS::Events::EventBusPolicy")["IntakeBusPolicy"]
        assert (bus["Statement"]["Principal"], bus["Statement"]["Action"]) == (self.OTHERS, "events:PutEvents")
        assert bus["Statement"]["Condition"] == {"StringEquals": {"events:detail-type": "quarterhour.event"}}
        rule = stack.of("AWS::Events::Rule")["IntakeRule"]
        assert rule["EventPattern"] == {"detail-type": ["quarterhour.event"]}
        assert rule["EventBusName"] == bus["EventBusName"] == "default"
        (target,) = rule["Targets"]
        ends = (target["Arn"], target["DeadLetterConfig"]["Arn"])
        assert list(map(arn_of, ends)) == ["IntakeQueue", "IntakeDeadLetterQueue"]

    @pytest.mark.parametrize("name", ["IntakeQueue", "IntakeDeadLetterQueue"])
    def test_the_rule_alone_may_send_for_eventbridge(self, stack: Stack, name: str) -> None:
        bus = self.statements(stack, name)["FromBus"]
        assert bus["Principal"] == {"Service": "events.amazonaws.com"}
        assert bus["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": ["IntakeRule", "Arn"]}}}

    def test_an_identity_is_remembered_for_as_long_as_a_queue_keeps_its_messages(
        self, document: Properties, stack: Stack
    ) -> None:
        (rule,) = document["Rules"]["IntakeRemembersRepeats"]["Assertions"]
        (refused,) = rule["Assert"]["Fn::Not"]
        days, parameter = refused["Fn::Contains"]
        kept = max(
            stack.of("AWS::SQS::Queue")[name]["MessageRetentionPeriod"] for name in ("IntakeQueue", "InboxQueue")
        )
        assert parameter == {"Ref": "DedupRetentionDays"}
        assert days == [str(day) for day in range(1, kept // 86_400 + 1)]

    def test_s3_tells_of_files_below_inbox_alone(self, stack: Stack) -> None:
        (notice,) = stack.of("AWS::S3::Bucket")["InboxBucket"]["NotificationConfiguration"]["QueueConfigurations"]
        assert (notice["Event"], arn_of(notice["Queue"])) == ("s3:ObjectCreated:*", "InboxQueue")
        assert notice["Filter"]["S3Key"]["Rules"] == [{"Name": "prefix", "Value": INBOX}]
        from_s3 = self.statements(stack, "InboxQueue")["FromBuckets"]
        assert from_s3["Principal"] == {"Service": "s3.amazonaws.com"}
        assert from_s3["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


class TestTheWatch:
    def test_looks_every_quarter_hour_of_an_hour_and_tries_no_longer_than_until_the_next(self, stack: Stack) -> None:
        schedule = schedule_of(stack, "WatchFunction")
        assert schedule["ScheduleExpression"] == "rate(15 minutes)"
        assert schedule["Target"]["RetryPolicy"]["MaximumEventAgeInSeconds"] < 15 * 60

    def test_is_started_by_a_role_that_can_do_nothing_else(self, stack: Stack) -> None:
        role = arn_of(schedule_of(stack, "WatchFunction")["Target"]["RoleArn"])
        assert allowed(stack, role) == [("lambda:InvokeFunction", "WatchFunction")]


@pytest.mark.parametrize("name", ["WriteFunction", "WatchFunction"])
class TestWhoChangesTheSchedule:
    def test_knows_the_reports_schedule_by_its_name_and_what_was_deployed(self, stack: Stack, name: str) -> None:
        variables = stack.of("AWS::Lambda::Function")[name]["Environment"]["Variables"]
        schedule = schedule_of(stack, "ReportFunction")
        assert (variables["SCHEDULE_NAME"], variables["REPORT_RATE"]) == (
            schedule["Name"],
            schedule["ScheduleExpression"],
        )

    def test_may_change_that_one_alone(self, stack: Stack, name: str) -> None:
        (statement,) = (one for one in stack.statements(name) if "scheduler:UpdateSchedule" in listed(one["Action"]))
        assert statement["Resource"] == {"Fn::Sub": REPORTS_SCHEDULE}
        assert REPORTS_SCHEDULE.endswith("/" + schedule_of(stack, "ReportFunction")["Name"]["Fn::Sub"])

    def test_may_hand_over_its_role_alone_and_to_the_scheduler_alone(self, stack: Stack, name: str) -> None:
        (statement,) = (one for one in stack.statements(name) if "iam:PassRole" in listed(one["Action"]))
        assert arn_of(statement["Resource"]) == arn_of(schedule_of(stack, "ReportFunction")["Target"]["RoleArn"])
        assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
