"""The requests and responses about orders, as types."""

from typing import Annotated

from quarterhour.model.api import WHOLE_NAME, named
from quarterhour.orders.order import MAX_ID

ShortName = Annotated[
    str,
    named(
        "ShortName",
        "The id of an order or a product: printable characters without `#`, and without a blank at either end.",
        minLength=1,
        maxLength=MAX_ID,
        pattern=WHOLE_NAME,
    ),
]
