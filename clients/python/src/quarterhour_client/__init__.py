"""Hands sales over to Quarterhour exactly once, from jobs that may die at any point.

``Client`` and ``AsyncClient`` store events in a durable spool and send them in the background. ``Sender`` sends
without a spool. ``sale``, ``refund``, ``void``, ``payment`` and ``adjustment`` make events.
"""

from quarterhour_client.aio import AsyncClient
from quarterhour_client.client import Client
from quarterhour_client.errors import (
    ClosedError,
    EventConflictError,
    EventError,
    QuarterhourError,
    RefusedError,
    SpoolCorruptError,
    SpoolError,
    SpoolFullError,
    SpoolWriteError,
    UnansweredError,
)
from quarterhour_client.events import Event, adjustment, event, order_item, payment, refund, sale, void
from quarterhour_client.sender import Sender
from quarterhour_client.spool import Parked
from quarterhour_client.transport import Bearer
from quarterhour_client.verdicts import Problem, Result, Verdict

__version__ = "1.0.0"
__all__ = [
    "AsyncClient",
    "Bearer",
    "Client",
    "ClosedError",
    "Event",
    "EventConflictError",
    "EventError",
    "Parked",
    "Problem",
    "QuarterhourError",
    "RefusedError",
    "Result",
    "Sender",
    "SpoolCorruptError",
    "SpoolError",
    "SpoolFullError",
    "SpoolWriteError",
    "UnansweredError",
    "Verdict",
    "adjustment",
    "event",
    "order_item",
    "payment",
    "refund",
    "sale",
    "void",
]
