"""The recorder of a Lambda function, made from the function's environment."""

from typing import TYPE_CHECKING

from quarterhour.aws.settings import Environment, calendar_of
from quarterhour.aws.workers import Workers
from quarterhour.ledger.plan import RecordingSettings
from quarterhour.ledger.service import Recorder
from quarterhour.ledger.store import LedgerStore
from quarterhour.rate_cards.store import RateCardStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def recorder_of(env: Environment, client: "DynamoDBClient", workers: Workers, timeout: str) -> Recorder:
    """Return the recorder of a function; ``timeout`` names the variable with the function's timeout in seconds.

    Raises ``SettingsError`` for a variable that is missing or invalid.
    """
    entity_table = env.text("ENTITY_TABLE")
    settings = RecordingSettings(
        shards=env.integer("LEDGER_SHARDS", minimum=1),
        commission_rate=env.share("DEFAULT_COMMISSION_RATE"),
        grace=env.seconds("GRACE_SECONDS"),
        longest_run=env.seconds(timeout),
        retention=env.days("DEDUP_RETENTION_DAYS") or None,
        calendar=calendar_of(env),
        registered_only=env.parsed("AGENCY_POLICY", "open or registered", _registered_only),
    )
    store = LedgerStore(client, env.text("IDENTITY_TABLE"), env.text("LEDGER_TABLE"), entity_table, workers)
    return Recorder(settings, store, RateCardStore(client, entity_table, workers).read)


def _registered_only(policy: str) -> bool:
    if policy not in {"open", "registered"}:
        raise ValueError(policy)
    return policy == "registered"
