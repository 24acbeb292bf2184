"""The client of the HTTP API: what it makes of answers that are none."""

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.httpsession import URLLib3Session

from quarterhour_tools.errors import ToolError
from quarterhour_tools.operations.remote import Remote


@pytest.mark.parametrize("content", [b"", b"<html>", b"\xff", b"[" * 100_000])
def test_an_answer_that_is_no_readable_json_is_an_error_with_a_message(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answered(*_: Any) -> Any:
        return SimpleNamespace(status_code=200, headers={}, content=content)

    monkeypatch.setattr(URLLib3Session, "send", answered)
    remote = Remote("http://127.0.0.1:9")
    with pytest.raises(ToolError, match="answered 200 without JSON"):
        remote.get("/me", {})
    with pytest.raises(ToolError, match="answered 200 without JSON"):
        remote.put("/schedule", {})
