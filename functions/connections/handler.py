"""Takes the webhooks of shops and payment providers, signed by a secret of their connection, and records them."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.resources import Resources
from quarterhour.aws.secrets import SecretStore
from quarterhour.aws.telemetry import observed
from quarterhour.customers.tokens import CustomerTokens
from quarterhour.intake.connections.agencies import AgenciesById
from quarterhour.intake.connections.applying import ParkedDeliveries
from quarterhour.intake.connections.deliveries import DeliveryIntake
from quarterhour.intake.connections.mapping import DeliveryRecorder
from quarterhour.intake.connections.reader import ConnectionReader
from quarterhour.intake.connections.store import ConnectionStore
from quarterhour.ledger.recording.service import recorder_of
from quarterhour.registry.agencies.store import RegistrationStore
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.web import http

resources = Resources.of_process()
env = resources.env
archived, tokens = ArchivedPostings.of(resources), CustomerTokens.of(resources)
recorder = recorder_of(resources, archived, "CONNECTIONS_TIMEOUT_SECONDS", tokens)
external_ids = AgenciesById(RegistrationStore.of(resources).with_ids)
store = ConnectionStore(resources.dynamodb, resources.entities)
reader = ConnectionReader(store, SecretStore(resources.ssm, env.text("CONNECTION_SECRETS_PATH")))
intake = DeliveryIntake(reader, store, ParkedDeliveries(store, DeliveryRecorder(recorder, external_ids)))

RESERVE_SECONDS = 5
"""The time kept to park what cannot be recorded, and for the response."""


@observed
@http.answered
def handler(event: dict[str, Any], context: LambdaContext) -> http.Response:
    """Record a signed delivery, or park it, and answer 2xx."""

    def seconds() -> float:
        return context.get_remaining_time_in_millis() / 1000 - RESERVE_SECONDS

    return intake.take(event, context.aws_request_id, seconds)
