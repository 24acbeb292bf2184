"""The proof, in Chromium, of the statements that 0.2.0 sealed: by the rules of their schema."""

import json
from datetime import UTC, datetime
from urllib.parse import quote

from quarterhour.model.clock import ManualClock
from tests.support.browser import IN_A_BROWSER, Tab, proven, shown
from tests.support.released import Release
from tests.support.served import served

pytestmark = IN_A_BROWSER

PERIOD = "2026-09"
"""The period that 0.2.0 has sealed at the dump."""


def test_statements_and_a_credit_note_are_proven(browser: Tab) -> None:
    release = Release("0.2.0")
    folder = release.folder / "bucket" / "statements" / PERIOD
    sealed = [json.loads(path.read_text("utf-8")) for path in sorted(folder.rglob("statement.json"))]
    assert [(one["schema"], one["document"]) for one in sealed if one["commission"].startswith("-")] == [
        (1, "credit_note")
    ]
    assert any(one["tax_profile"] is None for one in sealed)
    with served(ManualClock(datetime(2026, 11, 30, 3, tzinfo=UTC))) as (server, world):
        with server.turns.taken():
            stack = world.stack
            for item in release.lines("entity"):
                stack.dynamodb.put_item(TableName=stack.ref("EntityTable"), Item=item)
            for key, content in release.files.items():
                stack.engine.s3().put_object(Bucket=stack.ref("ReportBucket"), Key=key, Body=content)
        for one in sealed:
            browser.open(f"{server.url}/console/statements/{PERIOD}/{quote(one['agency'], safe='')}/{one['currency']}")
            shown(browser, "Closing balance")
            lines = "1 line" if one["lines"] == 1 else f"{one['lines']} lines"
            assert proven(browser) == f"Proven: {lines}, 3 files as sealed, all sums exact."
            assert browser.errors == []
    assert len(sealed) == 5
