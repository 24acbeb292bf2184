"""Keeping orders: claim, write the items, commit; and their status, step by step."""

from datetime import timedelta

from quarterhour import clock
from quarterhour.clock import iso_millis
from quarterhour.errors import ConflictError, NotFoundError
from quarterhour.fields import shown
from quarterhour.orders.order import Order
from quarterhour.orders.plan import Step, Values, claim, is_there, items
from quarterhour.orders.store import OrderStore


class OrderKeeper:
    """Creates each order whole or not at all, and changes its status."""

    def __init__(self, store: OrderStore) -> None:
        self._store = store

    def create(self, order: Order, seconds: float) -> tuple[Values, bool]:
        """Create an order within so many seconds; return its header, and whether it was not there before.

        Sent again, it is completed, or found as it stands. Raises ``ConflictError`` where its id is claimed by other
        content, complete or not, and ``UnavailableError`` where not all could be written: nothing of it shows then.
        """
        until = clock.now() + timedelta(seconds=seconds)

        def in_time() -> bool:
            return clock.now() < until

        claimed = self._store.claim(claim(order, clock.now()))
        header = claimed.header
        if header is None or header["digest"] != order.digest:
            raise ConflictError(
                f"the order {shown(order.id)} was sent before with other content: send that again, or take another id"
            )
        if is_there(header):
            return header, False
        # What an earlier try has written is not written again: else a long order, throttled, would never be complete.
        written = set() if claimed.changed else {item["sk"] for item in self._store.items(order.id)}
        missing = [item for item in items(order, header) if item["sk"] not in written]
        self._store.write(missing, in_time)
        return self._store.commit(order.id, header, in_time).header or header, True

    def change(self, order: str, step: Step) -> Values:
        """Take an order from one status to another; return its header.

        Asked again, it is found as it stands. Raises ``NotFoundError``, or ``ConflictError`` where it is in another
        status than the step begins with.
        """
        standing = self._store.step(order, step, iso_millis(clock.now()))
        header = standing.header
        if header is None or not is_there(header):
            raise NotFoundError(f"there is no order {shown(order)}")
        if not (standing.changed or step.is_in(header)):
            raise ConflictError(f"the order {shown(order)} is {header['status']}, not {step.before}")
        return header
