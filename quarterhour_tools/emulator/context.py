"""The context object that Lambda passes to a function, and when a function here ends a page for others that wait."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

from quarterhour.web.paging import RESERVE_SECONDS
from quarterhour_tools.emulator.direct import ACCOUNT, REGION

PAGE_ENDS: Final = RESERVE_SECONDS - 1
"""Seconds that a reading request has left once others have waited for it: its page ends, and names the next one."""
PAGE_SECONDS: Final = 1.0
"""How long a page may take while other requests wait."""


@dataclass(frozen=True, slots=True)
class Context:
    """The context object that Lambda passes to a function."""

    function_name: str
    memory_limit_in_mb: int
    aws_request_id: str
    ends_at: float
    """On the machine's monotonic clock: work takes real time, even if the ledger's clock stops."""
    ends_page: Callable[[], bool] = lambda: False
    """Whether a page of a list is to end, though it is not full."""
    function_version: ClassVar = "$LATEST"
    log_stream_name: ClassVar = "local"

    @property
    def invoked_function_arn(self) -> str:
        """The function's ARN."""
        return function_arn(self.function_name)

    @property
    def log_group_name(self) -> str:
        """The function's log group."""
        return f"/aws/lambda/{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that the invocation may still run; few if a page is to end."""
        left = self.ends_at - time.monotonic()
        return max(0, int((min(left, PAGE_ENDS) if self.ends_page() else left) * 1000))


class Waiting(Protocol):
    """What knows whether other requests wait."""

    others_wait: Callable[[], bool]


def ends_page(event: Mapping[str, Any], waiting: Waiting) -> Callable[[], bool]:
    """Return what tells whether the page of a reading request that begins now is to end."""
    began = time.monotonic()
    is_reading = event.get("requestContext", {}).get("http", {}).get("method") == "GET"
    return lambda: is_reading and time.monotonic() - began > PAGE_SECONDS and waiting.others_wait()


def function_arn(name: str) -> str:
    """Return the ARN of a function of the emulator."""
    return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
