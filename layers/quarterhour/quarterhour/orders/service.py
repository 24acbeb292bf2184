"""Creates orders (claim the id, write the items, commit the header), and changes their status."""

from dataclasses import replace
from datetime import timedelta

from quarterhour.customers.keys import is_token
from quarterhour.customers.tokens import Tokens
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, NotFoundError, UnavailableError
from quarterhour.model.fields import shown
from quarterhour.orders.order import Order
from quarterhour.orders.plan import OrderHeader, StatusChange, claim, items
from quarterhour.orders.store import OrderStore


class OrderService:
    """Creates each order whole or not at all, and changes its status."""

    def __init__(self, store: OrderStore, tokens: Tokens) -> None:
        """Take where orders are stored, and the tokens of customers."""
        self._store = store
        self._tokens = tokens

    def create(self, order: Order, seconds: float) -> tuple[OrderHeader, bool]:
        """Create an order within so many seconds; return its header, and whether this call completed it.

        A repeated request completes the order, or returns it as it is. Raises ``ConflictError`` if the id is
        claimed for other content. Raises ``UnavailableError`` if not all items could be written; readers then see
        nothing of the order.
        """
        until = clock.now() + timedelta(seconds=seconds)
        order = self._with_token(order)

        def in_time() -> bool:
            return clock.now() < until

        claimed = self._store.claim(claim(order, clock.now()), in_time)
        header = claimed.header
        if header is None or order.digest != header.digest:
            raise ConflictError(
                f"the order {shown(order.id)} was sent before with other content: send that again, or use another id"
            )
        if header.is_complete:
            return header, False
        # Items of an earlier attempt are not written again, so that retries complete a long order despite throttling.
        written = set() if claimed.applied else {item["sk"] for item in self._store.items(order.id)}
        missing = [item for item in items(order, header) if item["sk"] not in written]
        self._store.write(missing, in_time)
        return self._store.commit(header, in_time).header or header, True

    def _with_token(self, order: Order) -> Order:
        if not order.customer or is_token(order.customer):
            return order
        token = self._tokens([order.customer]).get(order.customer)
        if token is None:
            raise UnavailableError("the vault is not available: send the order again, a little later")
        return replace(order, customer=token)

    def change(self, order: str, change: StatusChange) -> OrderHeader:
        """Change an order's status; return its header.

        A repeated request returns the order as it is. Raises ``NotFoundError`` if there is no such order, and
        ``ConflictError`` if it is in another status than the change begins with.
        """
        write = self._store.change_status(order, change, iso_millis(clock.now()))
        header = write.header
        if header is None or not header.is_complete:
            raise NotFoundError(f"there is no order {shown(order)}")
        if not (write.applied or change.is_in(header)):
            raise ConflictError(f"the order {shown(order)} is {header.status}, not {change.before}")
        return header
