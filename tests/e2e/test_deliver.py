"""`quarterhour deliver`: a payload reaches its connection, signed as its provider signs."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.model.clock import ManualClock
from quarterhour_tools.cli import main
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.loading import webhook
from quarterhour_tools.loading.webhook import SECRET
from tests.support.connections import SECRETS, connect, sale, state
from tests.support.served import served
from tests.support.system import World


@pytest.fixture
def place() -> Iterator[tuple[Server, World]]:
    """A served system with a connection of each provider."""
    with served(ManualClock(datetime(2026, 10, 23, 1, 30, tzinfo=UTC)), {"Intake": "queue"}) as (server, world):
        with server.turns.taken():
            for provider in Provider:
                connect(world, provider.value, provider)
        yield server, world


@pytest.mark.parametrize("provider", list(Provider))
def test_a_payload_is_delivered_as_its_provider_would(
    place: tuple[Server, World],
    provider: Provider,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server, world = place
    (tmp_path / "payload.json").write_text(json.dumps(sale("a-1")))
    deliver = ["deliver", str(tmp_path / "payload.json"), "--connection", provider.value, "--url", server.url]
    # The functions, which run in threads of this process, replace its environment; the command has one of its own.
    own: dict[str, str] = {}
    monkeypatch.setattr(webhook, "os", SimpleNamespace(environ=own))
    assert main(deliver) == 2
    assert SECRET in capsys.readouterr().err
    own[SECRET] = SECRETS[provider]
    assert main([*deliver, "--topic", "orders/paid"]) == 0
    assert "200" in capsys.readouterr().out
    (tmp_path / "other").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    assert main([*deliver, "--secret-file", str(tmp_path / "other")]) == 1
    with server.turns.taken():
        found = state(world, provider.value)
    assert (found["delivered"], found["refused_signatures"]) == (1, 1)
