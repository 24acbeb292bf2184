"""Print the travel agents of the hotel bookings as a file of agencies (NDJSON); the bookings are on standard input.

The file of bookings names its agents by number alone. The group follows from most of an agent's bookings. Address and
tax are made up. Bookings without an agent have no legal name and no address, so they stay drafts. With ``--history``,
tax and who collects change from time to time, within months too: several lines for an agent, as
``quarterhour replay`` reads them.
"""

import csv
import json
import sys
from collections import Counter, defaultdict

DIRECT = {"agency": "direct", "group": "own", "tax": {"scheme": "exempt"}}
"""Bookings without an agent."""
STANDARD = {"scheme": "standard", "percent": "23"}
BUSINESS = {"vat_id": "IE6433435F"}
"""The VAT id of online agents: a tax profile of reverse charge needs one."""
REVERSE_CHARGE = {"scheme": "reverse_charge", **BUSINESS}
TAX: dict[str, dict[str, object]] = {
    "online": {"address": "1 North Wall Quay\nDublin 1", "country": "IE", "tax": REVERSE_CHARGE},
    "offline": {"address": "Rua do Porto 1\n1100-026 Lisboa", "country": "PT", "tax": STANDARD},
}

GROUPS_REDUCED = {**STANDARD, "by_category": {"Groups": {"scheme": "standard", "percent": "6"}}}
HISTORY: dict[str, list[tuple[str, dict[str, object]]]] = {
    "online": [
        ("2000-01-01", {"tax": REVERSE_CHARGE, "collects": "marketplace"}),
        ("2015-06-17", {"tax": {**STANDARD, **BUSINESS}, "collects": "marketplace"}),
        ("2015-07-01", {"tax": {"scheme": "outside_scope", **BUSINESS}}),
        ("2016-02-29", {"tax": REVERSE_CHARGE, "collects": "marketplace"}),
    ],
    "offline": [
        ("2000-01-01", {"tax": STANDARD}),
        ("2015-06-09", {"tax": GROUPS_REDUCED}),
        ("2015-07-10", {"tax": {"scheme": "exempt"}, "collects": "marketplace"}),
        ("2015-07-20", {"tax": GROUPS_REDUCED, "collects": "marketplace"}),
        ("2016-03-15", {"tax": GROUPS_REDUCED}),
    ],
}
"""The tax and the direction of the money by group, each from a midnight UTC on."""

segments: defaultdict[str, Counter[str]] = defaultdict(Counter)
for row in csv.DictReader(sys.stdin):
    segments[row["agent"]][row["market_segment"]] += 1
segments.pop("NULL", None)

for agent, counts in segments.items():
    group = "online" if counts.most_common(1)[0][0] == "Online TA" else "offline"
    known = {"agency": agent, "legal_name": f"Agent {agent}", "currency": "EUR", "group": group, **TAX[group]}
    if "--history" not in sys.argv:
        print(json.dumps(known))
        continue
    for since, changed in HISTORY[group]:
        print(json.dumps({**known, **changed, "valid_from": f"{since}T00:00:00Z"}))
print(json.dumps(DIRECT))
