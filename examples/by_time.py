"""Print events (NDJSON on standard input) in the order of time, as a marketplace would send them.

The events of every fiftieth row are sent 45 days late. The row is the first number after a colon in an event's id.
"""

import json
import sys
from datetime import datetime, timedelta

LATE_ROWS, LATE = 50, timedelta(days=45)


def sent(line: str) -> datetime:
    """Return when the event of a line is sent."""
    event = json.loads(line)
    row = int(event["id"].split(":")[1])
    return datetime.fromisoformat(event["time"]) + (timedelta() if row % LATE_ROWS else LATE)


sys.stdout.writelines(sorted(sys.stdin, key=sent))
