"""Print the travel agents of the hotel bookings as a file of agencies (NDJSON); the bookings are on standard input.

The file of bookings names its agents by number alone. The group follows from most of an agent's bookings. Country and
tax are made up.
"""

import csv
import json
import sys
from collections import Counter, defaultdict

DIRECT = {"agency": "direct", "group": "own", "tax": {"scheme": "exempt"}}
"""Bookings without an agent."""
TAX = {
    "online": {"country": "IE", "tax": {"scheme": "reverse_charge"}},
    "offline": {"country": "PT", "tax": {"scheme": "standard", "percent": "23"}},
}

segments: defaultdict[str, Counter[str]] = defaultdict(Counter)
for row in csv.DictReader(sys.stdin):
    segments[row["agent"]][row["market_segment"]] += 1
segments.pop("NULL", None)

for agent, counts in segments.items():
    group = "online" if counts.most_common(1)[0][0] == "Online TA" else "offline"
    print(
        json.dumps({"agency": agent, "legal_name": f"Agent {agent}", "currency": "EUR", "group": group, **TAX[group]})
    )
print(json.dumps(DIRECT))
