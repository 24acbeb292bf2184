"""Prices of AWS in us-east-1, in dollars; it imports nothing, as measured processes load it."""

from decimal import Decimal
from typing import Final

MILLION: Final = 1_000_000
GB: Final = 1_000_000_000
WRITE: Final = Decimal("0.625") / MILLION
"""Dollars a write unit, on demand."""
READ: Final = Decimal("0.125") / MILLION
STORED: Final = Decimal("0.25") + Decimal("0.20")
"""Dollars a gigabyte and month, in a table and in its point-in-time recovery."""
REQUEST: Final = Decimal("1.00") / MILLION
INVOCATION: Final = Decimal("0.20") / MILLION
GIGABYTE_SECOND: Final = Decimal("0.0000133334")
S3_PUT: Final = Decimal("5.00") / MILLION
LOGGED: Final = Decimal("0.50") / GB
"""Dollars a byte of logs that is taken in."""
LOG_STORED: Final = Decimal("0.03") / GB
"""Dollars a byte and month of logs; AWS compresses them first, which is not counted."""
SENT: Final = Decimal("0.09") / GB
"""Dollars a byte that leaves AWS; the first 100 GB of an account each month are free and not counted as such."""
METRIC: Final = Decimal("0.30")
"""Dollars a custom metric and month."""
TRANSITION: Final = Decimal("0.025") / 1_000
"""Dollars a state transition of a Step Functions workflow of the standard kind."""
LINES_STORED: Final = Decimal("0.023")
"""Dollars a gigabyte and month, in S3."""
KEY_REQUEST: Final = Decimal("0.03") / 10_000
"""Dollars a request to KMS; the first 20,000 of an account each month are free and not counted as such."""
SNAPSHOT_KEPT: Final = Decimal("0.0000015046")
"""Dollars a second and gigabyte of a function that starts from a snapshot."""
SNAPSHOT_RESTORED: Final = Decimal("0.0001397998")
"""Dollars a gigabyte of a process that starts from a snapshot."""
