"""Deliveries to a receiver that fails in every way: everything arrives, in order, and each failure has its outcome."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import standardwebhooks.webhooks

from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.secrets import SecretStore
from quarterhour.aws.workers import Workers
from quarterhour.model import clock
from quarterhour.notifications.notification import Notification, NotificationKind
from quarterhour.notifications.requests import SubscriptionRequest
from quarterhour.notifications.service import Dispatcher, NotificationLog
from quarterhour.notifications.store import NotificationStore
from quarterhour.notifications.subscription import DeliveryOutcome, DeliveryProgress, SubscriptionStatus
from quarterhour.notifications.subscription_service import SubscriptionService
from quarterhour.notifications.webhook import WebhookSender
from quarterhour_tools.emulator.engines import environment
from tests.support import receiver as does
from tests.support.receiver import Receiver, receiving
from tests.support.system import World, opened

NOTHING_LISTENS = "https://localhost:1/hook"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The system with notifications, and a library whose clock is the system's."""

    class OfTheSystem(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]  # noqa: ARG003 - as in the base class
            return clock.now()

    monkeypatch.setattr(standardwebhooks.webhooks, "datetime", OfTheSystem)
    with opened({"Notifications": "webhooks"}) as world:
        yield world


class Sending:
    """The parts that send notifications, on the tables of a system."""

    def __init__(self, world: World, sender: WebhookSender) -> None:
        self.world = world
        with environment({}):
            dynamodb, ssm = clients.dynamodb(), clients.ssm()
        self.store = NotificationStore(dynamodb, EntityReader(dynamodb, world.stack.ref("EntityTable")))
        secrets = SecretStore(ssm, f"/test/{world.stack.name}")
        self.log = NotificationLog(self.store)
        self.subscriptions = SubscriptionService(self.store, secrets, on=True)
        self.dispatcher = Dispatcher(self.store, secrets, sender, None, Workers(1), "123456789012/eu-west-1/test")
        self.runs = 0

    def append(self, *runs: str) -> None:
        """Put reports with these names into the log."""
        self.log.append([Notification.of(NotificationKind.REPORT_SEALED, {"run": run}, run) for run in runs])

    def run(self, **later: float) -> None:
        """Let time pass, and deliver what is due."""
        self.world.clock.advance(timedelta(**later))
        self.runs += 1
        self.dispatcher.run(f"run {self.runs}", 30)

    def progress(self) -> DeliveryProgress:
        """Return how far the deliveries are."""
        found = self.store.get("erp")
        assert found
        return found.progress

    def outcomes(self, name: str = "erp") -> list[tuple[str, str, int]]:
        """Return run, outcome and attempts of the deliveries of a subscription, the oldest first."""
        listed = self.world.read(f"/subscriptions/{name}/deliveries")["items"]
        return [(one["id"], one["outcome"], one["attempts"]) for one in reversed(listed)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture
def receiver(folder: Path) -> Iterator[Receiver]:
    with receiving(folder) as running:
        yield running


@pytest.mark.slow
def test_everything_arrives_in_order_whatever_the_receiver_does(world: World, receiver: Receiver) -> None:
    sending = Sending(world, WebhookSender(receiver.trust, local=True, seconds=0.4))
    _, secret = sending.subscriptions.put("erp", SubscriptionRequest(receiver.address, frozenset(), ""))
    receiver.secret = secret or ""
    failures = {
        does.HANG: "timed_out",
        does.DRIP: "timed_out",
        does.RESET: "disconnected",
        does.CLOSE: "disconnected",
        does.REDIRECT: "redirected",
        does.GARBAGE: "bad_answer",
        does.OTHER_NAME: "bad_certificate",
        does.NO_TLS: "tls_failed",
        500: "bad_status",
        404: "bad_status",
    }
    found, names = [], ["first"]
    sending.append(*names)
    for failure in failures:
        receiver.script.extend((failure, does.HUGE))
        name = f"after {failure}"
        sending.append(names[-1], name)  # The first of them is there already.
        names.append(name)
        sending.run(hours=1)
        found.append(sending.progress().last_outcome)
        connections = receiver.connections
        sending.run()
        assert receiver.connections == connections, "its pause is not over"
        sending.run(hours=1)
    assert found == list(failures.values())
    assert [one["data"]["run"] for one in receiver.taken] == names
    assert len({one["id"] for one in receiver.taken}) == len(names)
    assert [outcome for _, outcome, _ in sending.outcomes()] == ["delivered"] * len(names)
    assert [attempts for _, _, attempts in sending.outcomes()][:2] == [2, 1]


def failing(world: World, receiver: Receiver) -> Sending:
    """Send two notifications to where nothing listens."""
    sending = Sending(world, WebhookSender(receiver.trust, local=True, seconds=0.4))
    _, secret = sending.subscriptions.put("erp", SubscriptionRequest(NOTHING_LISTENS, frozenset(), ""))
    receiver.secret = secret or ""
    sending.append("one", "two")
    return sending


def test_a_receiver_that_fails_for_three_days_is_disabled_and_gets_everything_later(
    world: World, receiver: Receiver
) -> None:
    sending = failing(world, receiver)
    for _ in range(14):
        sending.run(hours=6)
    assert (sending.progress().status, sending.progress().last_outcome) == ("disabled", "disconnected")
    assert sending.dispatcher.run("later", 30).disabled == 1, "the alarm stays on"
    sending.subscriptions.put("erp", SubscriptionRequest(receiver.address, frozenset(), ""))
    sending.run()
    assert [one["data"]["run"] for one in receiver.taken] == ["one", "two"]
    assert sending.progress().status is SubscriptionStatus.ACTIVE


def test_a_replay_skips_nothing_that_a_failing_receiver_has_not_taken(world: World, receiver: Receiver) -> None:
    sending = failing(world, receiver)
    sending.run(hours=6)
    sending.subscriptions.put("erp", SubscriptionRequest(receiver.address, frozenset(), ""))
    sending.subscriptions.replay("erp", world.clock.now())
    sending.run()
    assert [one["data"]["run"] for one in receiver.taken] == ["one", "two"]


def test_a_name_that_resolves_to_a_network_gets_no_connection(world: World, receiver: Receiver) -> None:
    found: list[list[str]] = [["93.184.215.14", "127.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"], []]

    def resolve(host: str, port: int) -> list[str]:
        assert (host, port) == ("hooks.shop.com", receiver.port)
        return found.pop(0)

    sending = Sending(world, WebhookSender(receiver.trust, resolve=resolve))
    address = f"https://hooks.shop.com:{receiver.port}/hook"
    sending.subscriptions.put("erp", SubscriptionRequest(address, frozenset(), ""))
    sending.append("one")
    while found:
        sending.run(hours=1)
        assert sending.progress().last_outcome == DeliveryOutcome.REFUSED_ADDRESS
    assert receiver.connections == 0


def test_both_secrets_sign_for_a_day_and_a_replay_repeats_in_order(world: World, receiver: Receiver) -> None:
    sending = Sending(world, WebhookSender(receiver.trust, local=True))
    _, old = sending.subscriptions.put("erp", SubscriptionRequest(receiver.address, frozenset(), ""))
    receiver.secret = old or ""
    start = world.clock.now()
    sending.append("one")
    sending.run()
    _, new = sending.subscriptions.rotate("erp")
    sending.append("two")
    sending.run(hours=23)
    receiver.secret = new
    sending.subscriptions.replay("erp", start)
    sending.run()
    sending.append("three")
    sending.run(hours=2)
    assert [one["data"]["run"] for one in receiver.taken] == ["one", "two", "one", "two", "three"]
    first, second, *again = [one["id"] for one in receiver.taken]
    assert again[:2] == [first, second], "a receiver knows a repeated one by its id"


def test_only_what_a_subscription_wants_is_sent_to_it(world: World, receiver: Receiver) -> None:
    sending = Sending(world, WebhookSender(receiver.trust, local=True))
    _, secret = sending.subscriptions.put(
        "agency",
        SubscriptionRequest(
            receiver.address, frozenset({NotificationKind.EVENT_HELD, NotificationKind.EVENT_POSTED}), "42"
        ),
    )
    receiver.secret = secret or ""
    sending.append("one")
    sending.log.append(
        [
            Notification.of(kind, {"id": agency}, kind, agency, agency=agency)
            for kind in (NotificationKind.EVENT_HELD, NotificationKind.STATEMENT_ISSUED, NotificationKind.EVENT_POSTED)
            for agency in ("42", "43")
        ]
    )
    sending.append("two")
    sending.run()
    assert [(one["type"], one["data"]["agency"]) for one in receiver.taken] == [
        ("event.held", "42"),
        ("event.posted", "42"),
    ]
    assert sending.dispatcher.run("again", 30).delivered == 0
