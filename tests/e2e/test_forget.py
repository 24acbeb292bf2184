"""Forgetting on the command line: a customer, a message, and the log."""

import pytest

from quarterhour_tools.cli import main
from tests.e2e.test_rerate import serving
from tests.support.events import sale
from tests.support.requests import post
from tests.support.system import opened

WHY = ["--reason", "request 17"]


def test_a_customer_is_forgotten_once_and_the_log_has_no_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    monkeypatch.setattr("getpass.getuser", lambda: "bob")
    with opened() as world, serving(world) as url:
        post(world, sale("s1", "1", customer="Ada"))
        assert main(["forget", "Ada", "--url", url]) == 2
        assert "--reason is missing" in capsys.readouterr().err
        assert main(["forget", "Ada", *WHY, "--url", url]) == 0
        assert "forgotten: ct_" in capsys.readouterr().out
        assert main(["forget", "Ada", *WHY, "--url", url]) == 1
        assert "nothing is known" in capsys.readouterr().out
        assert main(["forget", "--list", "--url", url]) == 0
        listed = capsys.readouterr().out
        assert "request 17" in listed
        assert "1 customer forgotten" in listed
        assert "Ada" not in listed
        assert main(["forget", "--redact", "orders", "1001", "ben", "m-1", *WHY, "--url", url]) == 2
        assert "there is no such message" in capsys.readouterr().err
