"""The stores on an engine, with a meter for the cost of their calls."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.metering import Bill, Meter, Tables
from quarterhour.aws import clients
from quarterhour_tools.emulator.engines import environment
from tests.contract.storage import Storage

Record = Callable[[str, object], None]


@dataclass(frozen=True, slots=True)
class Metered:
    """The stores, with a metered client, and with one that is not (``free``), which may read with a filter."""

    storage: Storage
    meter: Meter
    free: Storage

    def bill(self, do: Callable[[], object]) -> Bill:
        """Return the cost of the calls that a function makes."""
        self.meter.take()
        do()
        return self.meter.take()


def metered(storage: Storage) -> Metered:
    """Return the stores of an engine with their own, metered client."""
    with environment({"AWS_ENDPOINT_URL_DYNAMODB": storage.stack.engine.dynamodb_url}):
        client = clients.dynamodb()
    meter = Meter(Tables(storage.stack.dynamodb))
    meter.attach(client)
    return Metered(replace(storage, dynamodb=client), meter, storage)


def cost(bill: Bill) -> str:
    """Format the cost of calls for the test report."""
    return f"{bill.write_units:g} write units, {bill.read_units:g} read units, {bill.calls.total()} calls"
