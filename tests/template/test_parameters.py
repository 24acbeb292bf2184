"""The parameters: described, and bad values refused at deployment."""

import re

import pytest

from quarterhour.counters.plan import Retention
from quarterhour.ledger.recording.settings import SAFETY
from quarterhour.model.errors import SettingsError
from quarterhour.model.quarter_hours import GRACE
from quarterhour.reports.schedule.expression import LONGEST, checked
from quarterhour_tools.emulator.template import Template
from quarterhour_tools.errors import ToolError
from tests.support.cases import cases
from tests.support.repository import ROOT
from tests.template.calls import started
from tests.template.stack import Properties, Stack, attribute, overrides, parsed


def accepts(parameter: str, value: str) -> bool:
    """Tell whether a deployment takes the value."""
    try:
        Template(parsed(), ROOT, {parameter: value})
    except ToolError:
        return False
    return True


def test_every_parameter_says_its_default_and_refuses_something(document: Properties) -> None:
    for name, rules in document["Parameters"].items():
        words = " ".join(rules["Description"].split())
        default = "empty" if rules["Default"] == "" else rules["Default"]
        assert f"Default {default}" in words, name
        assert rules.keys() & {"AllowedValues", "AllowedPattern", "MinValue"}, name
        assert "AllowedPattern" not in rules or "ConstraintDescription" in rules, name


def test_the_documentation_tells_of_every_parameter_and_its_default(document: Properties) -> None:
    page = (ROOT / "docs" / "deployment.md").read_text("utf-8").partition("## Parameters")[2].partition("\n#")[0]
    documented: dict[str, str] = {}
    for row in (line.split("|") for line in page.splitlines() if line.startswith("| `")):
        names, defaults = re.findall(r"`(\w+)`", row[1]), re.findall(r"`[^`]+`|empty", row[2])
        documented.update(zip(names, defaults, strict=True))
    assert documented == {
        name: f"`{one['Default']}`".replace("``", "empty") for name, one in document["Parameters"].items()
    }


@cases(
    "rate",
    [
        *("rate(15 minutes)", "rate(20 minutes)", "rate(60 minutes)", "rate(100 minutes)", "rate(1440 minutes)"),
        *("rate(1 hour)", "rate(2 hours)", "rate(10 hours)", "rate(24 hours)", "rate(99 hours)"),
        *("rate(1 day)", "rate(2 days)", "rate(9 days)"),
        *("cron(0 * * * ? *)", "cron(0/15 * * * ? *)", "cron(*/30 8-18 ? * MON-FRI *)", "cron(0 8 ? * 2,4,6 *)"),
        *("cron(5,35 0/6 1,8,15,22,29 * ? *)", "cron(59 23 */2 * ? *)"),
    ],
)
def test_a_good_report_rate_is_taken(rate: str) -> None:
    assert accepts("ReportRate", rate)
    assert checked(rate) == rate


@cases(
    "rate",
    [
        *("rate(14 minutes)", "rate(0 minutes)", "rate(1 minute)", "rate(1 minutes)", "rate(5 minutes)"),
        *("rate(015 minutes)", "rate(-15 minutes)", "rate(15.5 minutes)", "rate(10000 minutes)", "rate(15 minute)"),
        *("rate(0 hours)", "rate(0 hour)", "rate(1 hours)", "rate(2 hour)", "rate(01 hour)", "rate(100 hours)"),
        *("rate(0 days)", "rate(1 days)", "rate(2 day)", "rate(10 days)", "rate(1 week)"),
        *("rate(1hour)", "rate(1  hour)", "rate( 1 hour)", "rate(1 hour) ", " rate(1 hour)", "Rate(1 hour)"),
        *("rate()", "rate(hour)", "1 hour", "at(2026-10-23T01:30:00)", "hourly", ""),
        *("cron(* * * * ? *)", "cron(0 8 * * ?)", "cron(0 8 * * ? 2026)", "cron(0 8 * JAN ? *)", "cron(0 8 L * ? *)"),
        *("cron(0 8 ? * MON#1 *)", "cron(0 8 * * ? * *)", "cron(0 8 * * ? *) ", "0 8 * * ? *", "cron(0  8 * * ? *)"),
    ],
)
def test_a_bad_report_rate_is_refused(rate: str) -> None:
    assert not accepts("ReportRate", rate)


@pytest.mark.parametrize(
    "rate", ["cron(0/5 8 * * ? *)", "cron(0 8 1 * ? *)", "cron(0 8 ? * ? *)", "cron(99 8 * * ? *)"]
)
@pytest.mark.parametrize("name", ["read", "write", "watch"])
def test_a_cron_that_only_code_can_judge_stops_the_functions_that_would_set_it(
    rate: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = Template(parsed(), ROOT, {"ReportRate": rate}).functions(attribute)[name]
    with pytest.raises(SettingsError, match="REPORT_RATE is 'cron"):
        started(function, monkeypatch)


def test_the_longest_rate_seals_a_quarter_hour_while_its_counters_stand(document: Properties) -> None:
    rates = [f"rate({n} {unit})" for unit in ("minutes", "hours", "days") for n in range(2, 10_001)]
    taken = [rate for rate in rates if re.search(pattern(document, "ReportRate"), rate)]
    assert taken
    assert list(map(checked, taken)) == taken, "the functions take no other"
    assert Retention().quarter_hour > LONGEST


@pytest.mark.parametrize(
    "topic", ["", "arn:aws:sns:eu-west-1:123456789012:alarms", "arn:aws-cn:sns:cn-north-1:123456789012:a_b-C"]
)
def test_an_alarm_topic_is_an_arn_of_sns_or_none(topic: str) -> None:
    assert accepts("AlarmTopicArn", topic)


@cases(
    ("senders", "taken"),
    [
        *(("", True), ("210987654321", True), ("210987654321,109876543210", True)),
        *(("arn:aws:iam::210987654321:role/shops/till-1", True), ("arn:aws-cn:iam::210987654321:user/ann", True)),
        *(("210987654321,", False), (",210987654321", False), ("210987654321, 109876543210", False), ("*", False)),
        *(("arn:aws:iam::*:root", False), ("shop", False), ("21098765432", False), ("arn:aws:s3:::shop", False)),
    ],
)
def test_senders_are_accounts_roles_and_users_and_never_everybody(senders: str, *, taken: bool) -> None:
    assert accepts("IntakeSenders", senders) is taken


@cases(
    ("parameter", "value"),
    [
        *(("LedgerShards", "0"), ("LedgerShards", "65"), ("LedgerShards", "many")),
        ("DedupRetentionDays", "-1"),
        *(("Stage", ""), ("Stage", "Prod"), ("Stage", "a" * 17)),
        *(("LocalEndpoint", "localhost:9000"), ("LogRetentionDays", "15")),
        *(("AlarmTopicArn", "alarms"), ("AlarmTopicArn", "arn:aws:sqs:eu-west-1:123456789012:q")),
        ("AlarmTopicArn", "arn:aws:sns:eu-west-1:123456789012:alarms.fifo"),
    ],
)
def test_a_value_out_of_bounds_is_refused(parameter: str, value: str) -> None:
    assert not accepts(parameter, value)


@pytest.mark.parametrize("name", ["Ingest", "Billing", "Intake", "Connections"])
def test_every_appending_function_knows_its_timeout_and_the_grace_is_longer(stack: Stack, name: str) -> None:
    function = stack.of("AWS::Lambda::Function")[f"{name}Function"]
    assert function["Environment"]["Variables"][f"{name.upper()}_TIMEOUT_SECONDS"] == function["Timeout"]
    assert GRACE.total_seconds() > function["Timeout"] + SAFETY.total_seconds()


def pattern(document: Properties, parameter: str) -> str:
    return str(document["Parameters"][parameter]["AllowedPattern"])


@pytest.mark.parametrize("config", ["default", "prod", "local"])
def test_a_configuration_sets_what_the_template_takes(config: str) -> None:
    assert Template(parsed(), ROOT, overrides(config)).parameters.items() >= overrides(config).items()


def test_functions_in_containers_find_every_service_where_the_local_stack_answers() -> None:
    assert overrides("local")["LocalEndpoint"] == "http://host.docker.internal:8080"
