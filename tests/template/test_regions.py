"""What differs from region to region: hosts, and the partitions of resource names."""

import re

import pytest

from quarterhour.aws import clients
from quarterhour.web.static_files import origin
from tests.support.repository import ROOT
from tests.template.calls import LAMBDA
from tests.template.stack import FILES, Stack


@pytest.mark.parametrize(
    ("region", "suffix"),
    [
        ("us-east-1", "amazonaws.com"),
        ("eu-west-1", "amazonaws.com"),
        ("us-gov-west-1", "amazonaws.com"),
        ("cn-north-1", "amazonaws.com.cn"),
    ],
)
def test_the_console_may_fetch_from_the_host_that_a_link_names(
    stack: Stack, region: str, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**LAMBDA, "AWS_DEFAULT_REGION": region}.items():
        monkeypatch.setenv(name, value)
    link = clients.s3().generate_presigned_url("get_object", Params={"Bucket": "reports-1x2y", "Key": "report.html"})
    names = {"ReportBucket": "reports-1x2y", "AWS::Region": region, "AWS::URLSuffix": suffix}
    variables = stack.of("AWS::Lambda::Function")["ConsoleFunction"]["Environment"]["Variables"]
    assert origin(link) == re.sub(r"\$\{([^}]+)\}", lambda match: names[match[1]], variables["FILES_ORIGIN"]["Fn::Sub"])


def test_no_name_of_a_resource_is_of_one_partition_or_region() -> None:
    bound = re.compile(r"arn:aws\b|https?://\S*amazonaws\.com|\b(?:us|eu|ap)-[a-z]+-\d")
    texts = [path.read_text("utf-8") for path in FILES]
    lines = [line for text in texts for line in text.splitlines() if not line.lstrip().startswith("#")]
    assert [line for line in lines if bound.search(line)] == []


def test_no_code_of_the_functions_names_a_region() -> None:
    named = re.compile(r"[\"'](?:us|eu|ap)-[a-z]+-\d|region_name")
    files = [
        file for folder in ("functions", "layers/quarterhour/quarterhour") for file in (ROOT / folder).rglob("*.py")
    ]
    assert [file for file in files if named.search(file.read_text("utf-8"))] == []
