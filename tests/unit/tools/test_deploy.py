"""What `make deploy` looks at before and after the SAM CLI's own work."""

from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import NoCredentialsError

from quarterhour_tools import deploy
from quarterhour_tools.errors import ToolError

CONFIGURED = ["Stage=dev", "ReportRate='rate(15 minutes)'"]


class Aws:
    """Answers two calls."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once

    def get_account_settings(self) -> Any:
        return {"AccountLimit": {"ConcurrentExecutions": self._at_once}}

    def get_caller_identity(self) -> Any:
        raise NoCredentialsError


def test_the_parameters_are_those_of_the_configuration_and_the_own_ones(tmp_path: Path) -> None:
    own = tmp_path / "parameters.dev.toml"
    assert deploy.parameters(CONFIGURED, own) == {"Stage": "dev", "ReportRate": "rate(15 minutes)"}
    own.write_text('LedgerShards = 4\nStage = "other"\n', "utf-8")
    assert deploy.parameters(CONFIGURED, own) == {
        "Stage": "other",
        "ReportRate": "rate(15 minutes)",
        "LedgerShards": "4",
    }


@pytest.mark.parametrize("text", ["LedgerShards = 0", "LedgerShard = 1", "LedgerShards"])
def test_own_parameters_that_cannot_be_deployed_are_refused_with_their_file(tmp_path: Path, text: str) -> None:
    own = tmp_path / "parameters.dev.toml"
    own.write_text(text, "utf-8")
    with pytest.raises(ToolError, match=r"parameters\.dev\.toml: "):
        deploy.parameters(CONFIGURED, own)


def test_without_a_region_or_credentials_one_sentence_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3, "client", lambda _: Aws(10))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with pytest.raises(ToolError, match="AWS takes no credentials from here"):
        deploy.require_account()
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(ToolError, match="no region is set"):
        deploy.require_account()


def test_only_a_low_limit_of_functions_at_once_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boto3, "client", lambda _: Aws(10))
    assert deploy.of_concurrency().startswith("This account may run 10 functions at once")
    monkeypatch.setattr(boto3, "client", lambda _: Aws(100))
    assert deploy.of_concurrency() == ""
