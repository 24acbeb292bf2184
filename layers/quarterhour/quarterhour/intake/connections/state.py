"""What a connection has delivered so far: counts that each delivery moves by one write. Pure values."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.items import Request, to_item
from quarterhour.file_formats.webhooks.delivery import Excluded
from quarterhour.intake.connections.keys import state_key
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.model.clock import iso_millis

if TYPE_CHECKING:
    from quarterhour.intake.connections import api

DELIVERED: Final = "delivered"
REFUSED: Final = "refused"
PARKED: Final = "parked"
WAITING: Final = "waiting"
"""Those parked deliveries that wait for an event."""
_RULE: Final = "excluded: "
"""The beginning of the attribute that counts what a rule has excluded."""
_COUNTED: Final = (Verdict.RECORDED, Verdict.DUPLICATE, Verdict.HELD)
_OTHERS: Final = "other rules"
_MOST_RULES: Final = 50
_LONGEST_RULE: Final = 100


@dataclass(frozen=True, slots=True)
class StateChange:
    """What deliveries add to the counts of their connection, and when the last one came.

    ``delay``: seconds from what happened at the provider to its delivery, if the provider says when it happened.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    at: datetime | None = None
    delay: int | None = None

    def request(self, table: str, name: str) -> Request:
        """Build the UpdateItem, or the update of a transaction, that adds to the counts."""
        given = {f":n{number}": count for number, count in enumerate(self.counts.values())}
        names = {f"#n{number}": counted for number, counted in enumerate(self.counts)}
        adds = ", ".join(f"#n{number} :n{number}" for number in range(len(self.counts)))
        sets = {"last_delivery": self.at and iso_millis(self.at), "delay_seconds": self.delay}
        sets = {one: value for one, value in sets.items() if value is not None}
        update = f"SET {', '.join(f'{one} = :{one}' for one in sets)} " if sets else ""
        return {
            "TableName": table,
            "Key": to_item(state_key(name)),
            "UpdateExpression": update + f"ADD {adds}",
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": to_item({**given, **{f":{one}": value for one, value in sets.items()}}),
        }


def counts_of(outcomes: Iterable[Outcome], excluded: Sequence[Excluded]) -> dict[str, int]:
    """Return what the events and the exclusions of a delivery add to the counts."""
    verdicts = Counter(one.verdict for one in outcomes)
    counts = {verdict.value: verdicts[verdict] for verdict in _COUNTED if verdicts[verdict]}
    rules = Counter(one.rule[:_LONGEST_RULE] if one.rule else _OTHERS for one in excluded)
    return {**counts, **{f"{_RULE}{rule}": number for rule, number in rules.most_common(_MOST_RULES)}}


def shown_state(values: Mapping[str, Any]) -> "api.ConnectionState":
    """Return the item of a state as the API shows it."""
    delay = values.get("delay_seconds")
    return {
        "last_delivery": values.get("last_delivery"),
        "delay_seconds": None if delay is None else int(delay),
        "delivered": int(values.get(DELIVERED, 0)),
        "recorded": int(values.get("recorded", 0)),
        "duplicate": int(values.get("duplicate", 0)),
        "held": int(values.get("held", 0)),
        "excluded": {
            name.removeprefix(_RULE): int(number) for name, number in sorted(values.items()) if name.startswith(_RULE)
        },
        "parked": int(values.get(PARKED, 0)),
        "refused_signatures": int(values.get(REFUSED, 0)),
    }
