"""Stores on an engine, with a meter on what they cost."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.metering import Bill, Meter, Tables
from quarterhour.aws import clients
from quarterhour_tools.emulator.engines import environment
from tests.contract.storage import Storage

Record = Callable[[str, object], None]


@dataclass(frozen=True, slots=True)
class Metered:
    """The stores, with a client that is metered."""

    storage: Storage
    meter: Meter

    def bill(self, do: Callable[[], object]) -> Bill:
        """Return what something costs."""
        self.meter.take()
        do()
        return self.meter.take()


def metered(storage: Storage) -> Metered:
    """Return the stores of an engine with a client of their own that is metered."""
    with environment({"AWS_ENDPOINT_URL_DYNAMODB": storage.stack.engine.dynamodb_url}):
        client = clients.dynamodb()
    meter = Meter(Tables(storage.stack.dynamodb))
    meter.attach(client)
    return Metered(replace(storage, dynamodb=client), meter)


def told(bill: Bill) -> str:
    """Say what something costs."""
    return f"{bill.write_units:g} write units, {bill.read_units:g} read units, {bill.calls.total()} calls"
