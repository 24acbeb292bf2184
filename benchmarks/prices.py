"""Prices of AWS in us-east-1, in dollars. It imports the standard library only, as measured processes load it."""

from decimal import Decimal
from typing import Final

MILLION: Final = 1_000_000
GB: Final = 1_000_000_000
"""Bytes of a gigabyte."""
WRITE: Final = Decimal("0.625") / MILLION
"""Dollars per write unit of DynamoDB, on demand."""
READ: Final = Decimal("0.125") / MILLION
"""Dollars per read unit of DynamoDB, on demand."""
TABLE_GB_MONTH: Final = Decimal("0.25")
"""Dollars per gigabyte and month in a DynamoDB table."""
RECOVERY_GB_MONTH: Final = Decimal("0.20")
"""Dollars per gigabyte of a table and month, for its point-in-time recovery."""
REQUEST: Final = Decimal("1.00") / MILLION
"""Dollars per request to an HTTP API of API Gateway."""
INVOCATION: Final = Decimal("0.20") / MILLION
"""Dollars per invocation of a Lambda function."""
GB_SECOND: Final = Decimal("0.0000133334")
"""Dollars per gigabyte of memory and second for which a Lambda function runs, on arm64."""
S3_PUT: Final = Decimal("5.00") / MILLION
"""Dollars per PUT request to S3."""
S3_GB_MONTH: Final = Decimal("0.023")
"""Dollars per gigabyte and month in S3."""
LOG_BYTE: Final = Decimal("0.50") / GB
"""Dollars per byte of logs that CloudWatch takes in."""
LOG_BYTE_MONTH: Final = Decimal("0.03") / GB
"""Dollars per byte and month of logs; CloudWatch compresses them first, which is not counted."""
SENT_BYTE: Final = Decimal("0.09") / GB
"""Dollars per byte that leaves AWS; the first 100 GB of an account each month are free, which is not counted."""
METRIC_MONTH: Final = Decimal("0.30")
"""Dollars per custom metric and month."""
ALARM_METRIC_MONTH: Final = Decimal("0.10")
"""Dollars per metric of an alarm and month."""
DASHBOARD_MONTH: Final = Decimal(3)
"""Dollars per dashboard and month; the first three of an account are free, which is not counted."""
TRANSITION: Final = Decimal("0.025") / 1_000
"""Dollars per state transition of a standard workflow of Step Functions."""
SNAPSHOT_GB_SECOND: Final = Decimal("0.0000015046")
"""Dollars per gigabyte of memory and second for which the snapshot of a function is kept."""
SNAPSHOT_GB_RESTORED: Final = Decimal("0.0001397998")
"""Dollars per gigabyte of memory of a process that starts from a snapshot."""
