"""The proof of a statement in Chromium: for its agency, too, and no changed byte passes."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Route

from quarterhour.model.clock import ManualClock
from tests.handlers.desk import send
from tests.support.agencies import ANYWHERE, tax
from tests.support.browser import IN_A_BROWSER, PHONE, Tab, open_as, proven, result_of_proof, shown
from tests.support.events import adjustment, payment, refund, sale
from tests.support.openid import Issuer
from tests.support.requests import post, put, verdicts
from tests.support.served import served

pytestmark = IN_A_BROWSER

BOOKS = {"scheme": "standard", "percent": "21", "by_category": {"books": {"scheme": "standard", "percent": "9"}}}


@pytest.fixture(scope="module")
def address(issuer: Issuer) -> Iterator[str]:
    """The address of a stack in November: a statement, one that was replaced, a credit note, and a settlement."""
    with served(ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC)), issuer.with_roles) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": ANYWHERE})
            registered = {
                "42": tax(percent="20"),
                "43": tax(scheme="exempt", percent=None),
                "44": {**tax(percent="21"), "collects": "marketplace", "tax": BOOKS},
                "45": tax(percent="20"),
            }
            for agency, content in registered.items():
                put(world, f"/agencies/{agency}", {"seen": 0, "content": content})
            sent = [
                sale("a1", "100.05", agency="42", commission_rate="0.125"),
                refund("a2", "-0.02", "a1", agency="42"),
                payment("a3", "5.00", agency="42"),
                {**adjustment("a4", "7.50", agency="42"), "data": {"currency": "GBP", "amount": "0"}},
                adjustment("b1", "-5", agency="43"),
                sale("c1", "80.00", agency="44", category="books", commission_rate="0.1"),
                sale("c2", "20.10", agency="44", commission_rate="0.1"),
                sale("d1", "60.00", agency="45", commission_rate="0.1"),
            ]
            sent[3]["data"] |= {"commission": "7.50", "kind": "opening", "reason": "from the books before"}
            assert verdicts(post(world, sent)) == ["recorded"] * len(sent)
            world.pass_time(days=5)
            world.report()
            world.stack.invoke("statements", {})
            for seen, decision in ((2, "cancel"), (4, "release")):
                body = {"decision": decision, "seen": seen, "reason": "wrong name"}
                assert send(world, "PUT", "/drafts/45/GBP/2026-10", body).status == 200
                world.stack.invoke("statements", {})
            world.drain()
        yield server.url


@pytest.fixture
def opened(browser: Tab, address: str, issuer: Issuer) -> Tab:
    """The page of a statement, as a person of its agency sees it."""
    open_as(browser, f"{address}/console/statements/2026-10/42/GBP", issuer, "agency", "42")
    shown(browser, "Closing balance")
    return browser


@contextmanager
def changed(browser: Tab, name: str, old: bytes, new: bytes) -> Iterator[None]:
    """Let the browser get a file of another content."""

    def answer(route: Route) -> None:
        response = route.fetch()
        content = response.body()
        is_packed = name.endswith(".gz")
        plain = gzip.decompress(content) if is_packed else content
        assert old in plain
        forged = plain.replace(old, new, 1)
        route.fulfill(response=response, body=gzip.compress(forged) if is_packed else forged)

    browser.page.route(f"**/{name}?*", answer)
    yield
    browser.page.unroute(f"**/{name}?*")


@contextmanager
def forged(browser: Tab, name: str, old: bytes, new: bytes) -> Iterator[None]:
    """Let the browser get a file of another content, and hashes that agree with it wherever they are named."""
    files: dict[str, bytes] = {}

    def answer(route: Route) -> None:
        response = route.fetch()
        body = response.text()
        for file in json.loads(body)["files"]:
            key = file["key"].rpartition("/")[2]
            with urlopen(file["url"]) as sealed:  # noqa: S310 - our own
                files[key] = sealed.read()
        hashes = {name: sha256(files[name]).hexdigest()}
        content = files[name]
        if name.endswith(".gz"):
            files[name] = gzip.compress(gzip.decompress(content).replace(old, new, 1))
            sealed_hash = hashes["statement.json"] = sha256(files["statement.json"]).hexdigest()
            named = sha256(files[name]).hexdigest().encode()
            files["statement.json"] = files["statement.json"].replace(hashes[name].encode(), named)
            assert sealed_hash != sha256(files["statement.json"]).hexdigest()
        else:
            files[name] = content.replace(old, new, 1)
        assert content != files[name]
        for key, before in hashes.items():
            body = body.replace(before, sha256(files[key]).hexdigest())
        route.fulfill(response=response, body=body)

    def content_of(route: Route) -> None:
        key = urlsplit(route.request.url).path.rpartition("/")[2]
        route.fulfill(response=route.fetch(), body=files[key])

    def is_file(url: str) -> bool:
        return "/statements/2026-10/42/GBP/" in url and "X-Amz" in url

    browser.page.route("**/statements/42/GBP/2026-10", answer)
    browser.page.route(is_file, content_of)
    yield
    browser.page.unroute("**/statements/42/GBP/2026-10")
    browser.page.unroute(is_file)


def test_an_agency_proves_its_statement_and_reads_what_was_not_proven(
    browser: Tab, address: str, issuer: Issuer
) -> None:
    page = f"{address}/console/statements/2026-10/42/GBP"
    open_as(browser, page, issuer, "agency", "42")
    shown(browser, "Closing balance")
    assert proven(browser) == "Proven: 4 lines, 4 files as sealed, all sums exact."
    shown(browser, "What this does not prove")
    shown(browser, "This needs all files of the marketplace; its auditors can prove it.")
    shown(browser, "quarterhour verify --statement DIR")
    assert browser.page.locator("details.evidence[open]").count() == 0
    browser.page.locator("details.evidence summary").click()
    shown(browser, "The sums of S-000001 are those of its lines")
    assert browser.violations() == []
    assert browser.errors == []
    browser.resize(*PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def downloaded(browser: Tab, address: str, issuer: Issuer, folder: Path) -> Path:
    """Prove a statement, download its certificate, and return the file."""
    open_as(browser, f"{address}/console/statements/2026-10/42/GBP", issuer, "agency", "42")
    proven(browser)
    with browser.page.expect_download() as download:
        browser.follow("button", "Download the certificate")
    assert download.value.suggested_filename == "proof-S-000001.html"
    path = folder / "certificate.html"
    download.value.save_as(path)
    return path


def test_the_certificate_says_what_was_checked_and_how_to_repeat_it(
    browser: Tab, address: str, issuer: Issuer, tmp_path: Path
) -> None:
    path = downloaded(browser, address, issuer, tmp_path)
    browser.open(path)
    text = browser.page.inner_text("body")
    assert "S-000001 of 42 in GBP, October 2026" in text
    assert "Proven: 4 lines, 4 files as sealed, all sums exact." in text
    assert "quarterhour verify --statement DIR" in text
    assert f"{address}/console/statements/2026-10/42/GBP" in text
    assert "The balance of S-000001 follows from its figures" in text
    assert "What was not proven" in text
    assert len(browser.page.locator("tbody tr").all()) == 11
    assert browser.violations() == []
    assert browser.requested == [path.as_uri()]


@pytest.mark.parametrize(
    ("agency", "result"),
    [
        ("43", "Proven: 1 line, 4 files as sealed, all sums exact."),
        ("44", "Proven: 2 lines, 4 files as sealed, all sums exact."),
        ("45", "Proven: 3 documents, 1 line, 12 files as sealed, all sums exact."),
    ],
)
def test_credit_notes_settlements_and_cancelled_statements_are_proven(
    browser: Tab, address: str, issuer: Issuer, agency: str, result: str
) -> None:
    open_as(browser, f"{address}/console/statements/2026-10/{agency}/GBP", issuer, "auditor")
    assert proven(browser) == result
    browser.page.locator("details.evidence summary").click()
    text = browser.page.inner_text("details.evidence")
    assert "failed" not in text
    if agency == "44":
        assert "VAT 9 %: 0.72 on 8.00" in text
        assert "VAT 21 %: 0.42 on 2.01" in text
        assert "0 + 11.15 \u2212 100.10 \u2212 0 = -88.95" in text


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("statement.json", (b'"closing": "17.50"', b'"closing": "17.51"')),
        ("statement.html", (b"</title>", b" </title>")),
        ("statement.xml", (b"<cbc:ID>", b"<cbc:ID> ")),
        ("lines.csv.gz", (b"100.05", b"100.06")),
    ],
)
def test_a_changed_byte_is_named(opened: Tab, name: str, change: tuple[bytes, bytes]) -> None:
    with changed(opened, name, *change):
        result = proven(opened)
    assert result == f"Not proven: statements/2026-10/42/GBP/{name} is not the file that was sealed."
    assert opened.page.locator("details.evidence[open]").count() == 1
    assert opened.page.inner_text("details.evidence").count("failed") == 1


@pytest.mark.parametrize(
    ("name", "change", "wrong"),
    [
        ("lines.csv.gz", (b",100.05,", b",100.06,"), "sales: amount: expected 100.06, found 100.05"),
        ("lines.csv.gz", (b",42,GBP", b",43,GBP"), "The line shop a2 is of 43 in GBP"),
        ("statement.json", (b'"closing": "17.50"', b'"closing": "17.49"'), "The closing balance on this page: "),
        ("statement.json", (b'"tax": "2.50"', b'"tax": "2.51"'), "The tax of VAT 20 %: expected 2.50, found 2.51"),
        ("statement.json", (b'"proceeds": "0"}', b'"proceeds": "1"}'), "What is left of the proceeds: expected 0"),
        (
            "statement.json",
            (b'"agency": "42"', b'"agency": "42", "agency": "42"'),
            "A key appears twice in one object.",
        ),
    ],
)
def test_figures_that_do_not_follow_from_the_lines_are_named_whatever_the_hashes_say(
    opened: Tab, name: str, change: tuple[bytes, bytes], wrong: str
) -> None:
    """Somebody who may write files and table can make the hashes agree: the sums still do not."""
    with forged(opened, name, *change):
        result = proven(opened)
    assert result.startswith("Not proven: ")
    assert wrong in result


# ---------------------------------------------------------------- what somebody received


def received(browser: Tab, address: str, folder: Path) -> dict[str, bytes]:
    """Open a statement, save its files, as somebody gets them, and return them by their names."""
    browser.open(f"{address}/console/statements/2026-10/42/GBP")
    shown(browser, "Closing balance")
    links = browser.page.locator("details.evidence a").all()
    files = {}
    for link in links:
        name = (link.text_content() or "").rpartition("/")[2]
        with urlopen(link.get_attribute("href") or "") as sealed:  # noqa: S310 - our own
            files[name] = sealed.read()
        (folder / name).write_bytes(files[name])
    return files


def verified(browser: Tab, address: str, *files: Path) -> str:
    """Choose files on the page that verifies them; return the result in one sentence."""
    browser.open(f"{address}/console/verify")
    shown(browser, "Files, chosen or dropped here")
    browser.page.set_input_files("input[type=file]", files)
    browser.follow("button", "Verify")
    return result_of_proof(browser)


def test_a_statement_that_somebody_received_is_verified_by_its_files(
    browser: Tab, address: str, issuer: Issuer, tmp_path: Path
) -> None:
    open_as(browser, f"{address}/console/verify", issuer, "agency", "42")
    files = received(browser, address, tmp_path)
    chosen = tmp_path / "statement.json", tmp_path / "lines.csv.gz"
    assert verified(browser, address, *chosen) == "Proven: 9 steps passed, 4 lines added up."
    assert verified(browser, address, chosen[0]) == "Proven: 2 steps passed, 0 lines added up; 1 not checked."
    assert browser.violations() == []

    lines = gzip.decompress(files["lines.csv.gz"])
    chosen[1].write_bytes(gzip.compress(lines.replace(b"100.05", b"100.06")))
    assert verified(browser, address, *chosen).startswith("Not proven: The SHA-256 of lines.csv.gz: expected ")

    # A forger who names the hash of the forged lines is found by the statement that is sealed.
    sealed, named = (sha256(one).hexdigest().encode() for one in (files["lines.csv.gz"], chosen[1].read_bytes()))
    chosen[0].write_bytes(files["statement.json"].replace(sealed, named))
    assert verified(browser, address, *chosen).startswith("Not proven: sales: amount: expected 100.06, found 100.05")
    chosen[1].write_bytes(files["lines.csv.gz"])
    chosen[0].write_bytes(files["statement.json"].replace(ANYWHERE["legal_name"].encode(), b"Forged Ltd"))
    assert verified(browser, address, *chosen).startswith("Not proven: The SHA-256 of statement.json: expected ")


def test_a_statement_of_others_is_proved_without_what_is_sealed_here(
    browser: Tab, address: str, issuer: Issuer, tmp_path: Path
) -> None:
    open_as(browser, f"{address}/console/verify", issuer, "auditor")
    received(browser, address, tmp_path)
    issuer.agency = "43"
    open_as(browser, f"{address}/console/verify", issuer, "agency", "43")
    chosen = tmp_path / "statement.json", tmp_path / "lines.csv.gz"
    assert verified(browser, address, *chosen) == "Proven: 8 steps passed, 4 lines added up; 1 not checked."


def test_a_certificate_is_verified_by_making_its_proof_again(
    browser: Tab, address: str, issuer: Issuer, tmp_path: Path
) -> None:
    path = downloaded(browser, address, issuer, tmp_path)
    assert verified(browser, address, path) == "Proven: 13 steps passed, 4 lines added up."
    text = path.read_text("utf-8")
    hashes = [one for one in text.split() if len(one.strip(",")) == 64]
    path.write_text(text.replace(hashes[0].strip(","), "0" * 64), "utf-8")
    assert verified(browser, address, path) == f"Not proven: No sealed file has the SHA-256 {'0' * 64}."
    path.write_text("<p>nothing</p>", "utf-8")
    problem = "Not proven: There is no statement and no certificate among the files."
    assert verified(browser, address, path) == problem
