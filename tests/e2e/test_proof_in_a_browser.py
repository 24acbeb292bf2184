"""Events, reports and their proof in Chromium: what their pages show, and that no changed file passes."""

import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote, urlencode

import pytest

from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.server import Server
from tests.handlers.desk import send
from tests.support.browser import HOSTILE, IN_A_BROWSER, PHONE, RIGHT_TO_LEFT, ZONE, Tab, called, proven, shown
from tests.support.events import ABSENT, payment, refund
from tests.support.requests import post, verdicts
from tests.support.served import served
from tests.support.system import World

pytestmark = IN_A_BROWSER

RUNS = 13
"""More than the page follows at once: the proven one and eleven before it, and one after it."""
PROVEN = "2026-10-30T1445-1500"
FOLDER = "reports/2026/10/30/1445-1500/"
LINES = "ledger/dt=2026-10-30/quarter=1445/lines.csv.gz"


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[World, Server]]:
    """A stack with a run for each quarter-hour from noon, and accounts with difficult names."""
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), ZONE) as (server, world):
        with server.turns.taken():
            for number in range(RUNS):
                world.sell("0.1", RIGHT_TO_LEFT)
                if number == RUNS - 2:
                    world.sell("1234567.10", HOSTILE, customer="'=1+1", order_id="-7", product='a "b", c')
                    world.sell("-34567.1", HOSTILE, product=HOSTILE)
                    paid = payment("paid", "12.34", agency=HOSTILE)
                    back = refund("back", "-100.10", "e12", agency=HOSTILE)
                    assert verdicts(post(world, [paid, back])) == ["recorded"] * 2
                world.pass_time(minutes=18 if number == 0 else 15)
                world.report()
            rules = [
                {
                    "currency": "GBP",
                    "charges": [{"name": "commission", "percent": "8", "fixed": "0.30", "maximum": "9"}],
                }
            ]
            content = {"valid_from": "2026-10-01T00:00:00Z", "rules": rules}
            assert send(world, "PUT", "/documents/rate-card:default", {"seen": 0, "content": content}).status == 201
            world.sell("100", commission_rate=ABSENT, quantity=2)
            world.drain()
        yield world, server


@pytest.fixture(scope="module")
def address(world: tuple[World, Server]) -> str:
    return world[1].url


@contextmanager
def replaced(world: tuple[World, Server], contents: Mapping[str, bytes], digest: str = "") -> Iterator[None]:
    """Replace objects of the bucket, and the stored hash of the manifest of the proven run; put all back at the end."""
    system, server = world
    s3, bucket = system.stack.engine.s3(), system.stack.ref("ReportBucket")

    def put(objects: Mapping[str, bytes], named: str) -> None:
        for key, content in objects.items():
            s3.put_object(Bucket=bucket, Key=key, Body=content)
        system.stack.dynamodb.update_item(
            TableName=system.stack.ref("EntityTable"),
            Key={"pk": {"S": "RUN"}, "sk": {"S": PROVEN}},
            UpdateExpression="SET manifest_sha256 = :digest",
            ExpressionAttributeValues={":digest": {"S": named}},
        )

    with server.turns.taken():
        before = {key: s3.get_object(Bucket=bucket, Key=key)["Body"].read() for key in contents}
        sealed = system.read(f"/reports/{PROVEN}")["manifest_sha256"]
        put(contents, digest or sealed)
    try:
        yield
    finally:
        with server.turns.taken():
            put(before, sealed)


def stored(world: tuple[World, Server], key: str) -> bytes:
    system, server = world
    with server.turns.taken():
        bucket = system.stack.ref("ReportBucket")
        return system.stack.engine.s3().get_object(Bucket=bucket, Key=key)["Body"].read()


def verified(browser: Tab, address: str) -> tuple[str, list[list[str]]]:
    """Verify the run in the browser; return the result, and the steps that did not pass."""
    browser.open(f"{address}/console/reports/{PROVEN}")
    result = proven(browser, "run")
    browser.evaluate("document.querySelector('details.evidence').open = true")
    others = "[...document.querySelectorAll('tr')].filter((one) => one.querySelector('.tag.failed, .tag.unknown'))"
    steps = browser.evaluate(f"{others}.map((one) => [...one.children].map((cell) => cell.innerText))")
    return result, steps


def test_the_runs_are_listed_by_day_and_lead_to_their_pages(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/reports?date=2026-10-30")
    shown(browser, "Runs, the newest first")
    assert browser.evaluate("document.querySelectorAll('tbody tr').length") == RUNS
    assert browser.violations() == []
    browser.click("Oct 30, 2026, 11:45")
    shown(browser, PROVEN)
    shown(browser, "Exact sums by account")
    text = browser.evaluate("document.querySelector('main').innerText")
    assert "-34,667.20" in text
    assert "12.34" in text
    assert HOSTILE in text
    assert browser.violations() == []
    assert browser.errors == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_a_day_without_a_run_says_what_to_do(browser: Tab, address: str) -> None:
    browser.open(f"{address}/console/reports?date=2026-10-29")
    browser.click("Show all runs")
    browser.until(f"document.querySelectorAll('tbody tr').length === {RUNS}")


def test_a_run_is_proven_back_to_the_first(browser: Tab, address: str) -> None:
    verdict, others = verified(browser, address)
    followed = "all sums exact, chain unbroken through the 10 runs before it."
    assert verdict == f"Proven: 5 lines, 2 accounts, {followed}"
    assert others == []
    assert "2 accounts, 5 lines, to the last decimal" in browser.evaluate("document.querySelector('main').innerText")
    assert browser.violations() == []
    browser.click("Follow the chain further")
    shown(browser, "Proven: 5 lines, 2 accounts, all sums exact, chain unbroken to the first run.")
    assert browser.errors == []


def test_changed_lines_are_not_proven(browser: Tab, address: str, world: tuple[World, Server]) -> None:
    forged = gzip.compress(gzip.decompress(stored(world, LINES)).replace(b"1234567.10", b"1234567.00"))
    with replaced(world, {LINES: forged}):
        verdict, (lines, sums) = verified(browser, address)
    assert verdict == f"Not proven: {LINES} is not the file that was sealed. More steps that failed: 1."
    assert lines[:2] == ["The lines of Oct 30, 2026, 2:45 PM UTC are those that were sealed", "failed"]
    assert sha256(forged).hexdigest() in lines[2], "the hash that was found"
    assert sums[:2] == ["The sums of the manifest are those of the lines", "failed"]


def test_a_changed_manifest_is_not_proven(browser: Tab, address: str, world: tuple[World, Server]) -> None:
    key = f"{FOLDER}manifest.json"
    with replaced(world, {key: stored(world, key).replace(b"1234567.10", b"1234567.00")}):
        verdict, (step,) = verified(browser, address)
    assert verdict == f"Not proven: {key} is not the file that was sealed."
    assert step[:2] == ["The manifest is the file that was sealed", "failed"]


def test_a_manifest_with_a_doubled_key_is_not_proven_whatever_its_hash_says(
    browser: Tab, address: str, world: tuple[World, Server]
) -> None:
    key = f"{FOLDER}manifest.json"
    sealed = stored(world, key)
    forged = sealed.replace(b"{", b'{"run": "another",', 1)
    with replaced(world, {key: forged}, sha256(forged).hexdigest()):
        verdict, (step,) = verified(browser, address)
    assert verdict == "Not proven: A key appears twice in one object."
    assert step == ["The manifest is the file that was sealed", "failed", "A key appears twice in one object."]


def test_a_changed_manifest_of_an_earlier_run_breaks_the_chain(
    browser: Tab, address: str, world: tuple[World, Server]
) -> None:
    key = "reports/2026/10/30/1400-1415/manifest.json"
    with replaced(world, {key: stored(world, key) + b"\n"}):
        verdict, (step,) = verified(browser, address)
    assert verdict == f"Not proven: {key} is not the file that was sealed."
    assert step[0].startswith("The run of Oct 30, 2026, 2:15")
    assert step[0].endswith("2:30 PM UTC names the manifest of the run before it")
    assert step[1] == "failed"


def test_a_missing_file_is_not_proven(browser: Tab, address: str, world: tuple[World, Server]) -> None:
    system, server = world
    s3, bucket, key = system.stack.engine.s3(), system.stack.ref("ReportBucket"), f"{FOLDER}summary.csv"
    content = stored(world, key)
    with server.turns.taken():
        s3.delete_object(Bucket=bucket, Key=key)
    try:
        verdict, (step,) = verified(browser, address)
    finally:
        with server.turns.taken():
            s3.put_object(Bucket=bucket, Key=key, Body=content)
    assert verdict == f"Not proven: {key} is gone."
    assert step[:2] == ["summary.csv is the file that was sealed", "failed"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ((b"12.34,", b"12.35,"), "payments: expected 12.35, found 12.34"),
        ((b",-34567.1,", b",-34567.10000000000000000001,"), "refunds: "),
        ((b"\n202610301445", b"\n202610301430"), "The quarter-hour of a line"),
    ],
)
def test_lines_that_disagree_with_the_manifest_are_not_proven_whatever_the_hashes_say(
    browser: Tab, address: str, world: tuple[World, Server], change: tuple[bytes, bytes], problem: str
) -> None:
    """Somebody who may write files and table can make the hashes agree: the sums and the places still do not."""
    manifest_key = f"{FOLDER}manifest.json"
    lines, manifest = stored(world, LINES), stored(world, manifest_key)
    assert change[0] in gzip.decompress(lines)
    forged = gzip.compress(gzip.decompress(lines).replace(*change))
    document = manifest.replace(sha256(lines).hexdigest().encode(), sha256(forged).hexdigest().encode())
    with replaced(world, {LINES: forged, manifest_key: document}, sha256(document).hexdigest()):
        verdict, others = verified(browser, address)
    assert verdict.startswith("Not proven: ")
    assert any(problem in detail for _, _, detail in others), others


def test_a_missing_earlier_run_is_not_called_proven(browser: Tab, address: str, world: tuple[World, Server]) -> None:
    system, server = world
    table, key = system.stack.ref("EntityTable"), {"pk": {"S": "RUN"}, "sk": {"S": "2026-10-30T1400-1415"}}
    with server.turns.taken():
        item = system.stack.dynamodb.get_item(TableName=table, Key=key)["Item"]
        system.stack.dynamodb.delete_item(TableName=table, Key=key)
    try:
        verdict, (step,) = verified(browser, address)
    finally:
        with server.turns.taken():
            system.stack.dynamodb.put_item(TableName=table, Item=item)
    assert verdict == "Proven: 5 lines, 2 accounts, all sums exact, chain unbroken as far as you may read."
    assert step[1] == "not checked"


@pytest.mark.parametrize(
    ("texts", "equal"),
    [
        (("0", "0.00"), True),
        (("-0.10", "-0.1"), True),
        (("1", "-1"), False),
        (("0.1", "0.10000000000000000001"), False),
    ],
)
def test_numbers_are_compared_exactly(browser: Tab, address: str, texts: tuple[str, str], *, equal: bool) -> None:
    browser.open(address)
    assert called(browser, "lib/decimal.js", "same", *texts) is equal


def event_page(source: str, id_: str) -> str:
    return f"/console/events/{quote(source, safe='')}/{quote(id_, safe='')}"


def test_events_are_found_by_agency_and_customer_and_lead_to_their_story(browser: Tab, address: str) -> None:
    query = urlencode({"from": "2026-10-30", "to": "2026-10-31", "agency": HOSTILE})
    browser.open(f"{address}/console/events?{query}")
    browser.until("document.querySelectorAll('tbody tr').length === 4")
    assert browser.violations() == []
    browser.evaluate("""document.querySelector('input[name=customer]').value = "'=1+1" """)
    browser.click("Show")
    browser.until("document.querySelectorAll('tbody tr').length === 1")
    browser.open(browser.evaluate("window.location.href"))
    browser.until("document.querySelectorAll('tbody tr').length === 1")
    browser.click("shop e12")
    shown(browser, "Commission so far")
    shown(browser, "sealed it. Its page proves the file.")
    assert browser.violations() == []
    assert browser.errors == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_the_story_of_a_refund_is_its_sale_and_each_step_of_its_share(browser: Tab, address: str) -> None:
    browser.open(f"{address}{event_page('shop', 'back')}")
    shown(browser, "Commission so far")
    text = browser.evaluate("document.querySelector('main').innerText")
    assert "The terms are those of its sale." in text
    assert "1,234,467.00" in text, "what is left of the sale"
    assert "-12.5125" in text, "the commission that is given back"
    assert "154,308.375" in text, "the commission after both"
    assert browser.evaluate("document.querySelector('tr[aria-current] th').innerText") == "shop back"


def test_an_event_is_compared_with_its_sealed_line(browser: Tab, address: str, world: tuple[World, Server]) -> None:
    browser.open(f"{address}{event_page('shop', 'e12')}")
    browser.click("Compare with the sealed line")
    shown(browser, "The sealed line and the ledger say the same.")
    assert browser.violations() == []
    with replaced(world, {LINES: gzip.compress(gzip.decompress(stored(world, LINES)).replace(b"1234567.10", b"1.00"))}):
        browser.open(f"{address}{event_page('shop', 'e12')}")
        browser.click("Compare with the sealed line")
        shown(browser, "is not the file that was sealed")


def test_an_event_that_is_not_sealed_yet_says_so_and_shows_its_rate_card(browser: Tab, address: str) -> None:
    browser.open(f"{address}{event_page('shop', 'e15')}")
    shown(browser, "It is not sealed yet.")
    text = browser.evaluate("document.querySelector('main').innerText")
    assert "General rate card, version 1." in text
    (rule,) = [line for line in text.splitlines() if line.startswith("The rule: ")]
    assert "8 %" in rule
    for step in ("8 % of 100", "0.30 for each of 2", "both together", "9 at most"):
        assert step in text


def test_what_is_not_there_says_why(browser: Tab, address: str) -> None:
    browser.open(f"{address}{event_page('shop', 'a/b %')}")
    browser.until("document.querySelector('[role=alert]')?.innerText.includes('Request')")
    browser.open(f"{address}/console/events?from=2026-10-29&to=2026-10-30")
    shown(browser, "No event matches from Oct 29, 2026 to Oct 30, 2026 (UTC, the end not included).")
    browser.open(f"{address}/console/events?from=yesterday&to=2026-10-30")
    browser.until("document.querySelector('[role=alert]')?.innerText.includes('From: Write a day such as')")
