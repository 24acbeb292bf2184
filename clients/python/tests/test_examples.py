"""The programs of the README run."""

import json
import runpy
import threading
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from clients.python.tests.support import URL

from quarterhour_client import Client, Sender
from quarterhour_client.testing import Fails, FakeQuarterhour

EXAMPLES = Path(__file__).parents[1] / "examples"


def program(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def posted(port: int, order: dict[str, str]) -> tuple[int, str]:
    request = Request(f"http://127.0.0.1:{port}/checkout", json.dumps(order).encode())
    try:
        with urlopen(request) as answer:  # noqa: S310 - our own
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_web_shop_records_a_sale_before_it_says_thank_you(path: Path) -> None:
    fake = FakeQuarterhour()
    with (
        Client(URL, path, transport=fake, max_events=1, linger=60) as client,
        program("web_shop")["serve"](client, 0) as shop,
    ):
        thread = threading.Thread(target=shop.serve_forever, args=(0.02,))
        thread.start()
        order = {"order": "1001", "agency": "42", "amount": "19.90", "paid_at": "2026-10-23T01:30:00+00:00"}
        assert posted(shop.server_port, order) == (200, "thank you")
        assert posted(shop.server_port, order) == (200, "thank you")
        assert posted(shop.server_port, {**order, "amount": "19,90"})[0] == 400
        assert posted(shop.server_port, {**order, "order": "1002"})[0] == 503
        assert client.waiting() == 1
        shop.shutdown()
        thread.join()
    assert list(fake.recorded) == [("web-shop", "1001:paid")]


def test_the_nightly_job_sends_a_file_and_shows_what_is_parked(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sales.csv"
    file.write_text(
        "order,agency,amount,currency,paid_at\n1,42,19.90,EUR,2026-10-23T01:30:00+00:00\n"
        "2,42,5.00,EUR,2026-10-23T01:31:00+02:00\n"
    )
    fake = FakeQuarterhour()
    problem = {"field": "subject", "problem": "is no agency", "expected": "an agency"}
    fake.answer_with("nightly", "2:paid", "rejected", errors=[problem])
    run = program("nightly_job")["run"]
    assert run(URL, path, file, fake) == 1
    assert capsys.readouterr().out == "2:paid: rejected: subject is no agency\n"
    assert run(URL, path, file, fake) == 1  # run again: it stays parked
    with Client(URL, path, transport=fake) as client:
        for parked in client.parked():
            client.resend(parked)
    assert run(URL, path, file, fake) == 0
    assert len(fake.recorded) == 2


def test_the_lambda_function_signs_and_returns_what_sqs_must_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"QUARTERHOUR_URL": URL, "AWS_REGION": "eu-west-1"}
    credentials = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "made-up", "AWS_SESSION_TOKEN": "token"}
    for name, value in {**variables, **credentials}.items():
        monkeypatch.setenv(name, value)
    functions = program("lambda_function")
    fake = FakeQuarterhour()
    fake.fail(Fails(503, retry_after=0))
    fake.answer_with("queue", "2", "rejected", errors=[{"field": "x", "problem": "y", "expected": "z"}])
    sender = Sender(URL, auth=functions["SigV4"]("eu-west-1"), transport=fake)
    monkeypatch.setitem(functions["handler"].__globals__, "sender", sender)

    class Context:
        def get_remaining_time_in_millis(self) -> int:
            return 30_000

    bodies = [{"order": str(number), "agency": "42", "amount": "5.00", "currency": "EUR"} for number in (1, 2, 3)]
    records = [{"messageId": f"m{body['order']}", "body": json.dumps(body)} for body in bodies]
    assert functions["handler"]({"Records": records}, Context()) == {"batchItemFailures": [{"itemIdentifier": "m2"}]}
    (_, sent) = fake.requests
    assert sent.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/")
    assert (
        "/eu-west-1/execute-api/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token, "
        in sent.headers["authorization"]
    )
    assert (sent.headers["x-amz-security-token"], sent.headers["host"]) == ("token", "api.example.com")
