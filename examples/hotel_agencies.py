"""Print the travel agents of the hotel bookings as a file of agencies (NDJSON); the bookings are on standard input.

The file of bookings names its agents by number alone. The group follows from most of an agent's bookings. Address, bank
account and tax are made up. Bookings without an agent have no legal name and no address, so they stay drafts.

With ``--history``, tax and who collects change from time to time, within months too, and some agents are registered
late: several lines for an agent, as ``quarterhour replay`` reads them. ``--collects`` replaces who collects in all.
"""

import argparse
import csv
import json
import sys
from collections import Counter, defaultdict

DIRECT = {"agency": "direct", "group": "own", "tax": {"scheme": "exempt"}}
"""Bookings without an agent."""
STANDARD = {"scheme": "standard", "percent": "23"}
BUSINESS = {"vat_id": "IE6433435F"}
"""The VAT id of a business: a tax profile of reverse charge needs one."""
REVERSE_CHARGE = {"scheme": "reverse_charge", **BUSINESS}
ONLINE = {"address": "1 North Wall Quay\nDublin 1", "country": "IE", "iban": "IE29AIBK93115212345678"}
OFFLINE = {"address": "Rua do Porto 1\n1100-026 Lisboa", "country": "PT", "iban": "PT50000201231234567890154"}
TAX: dict[str, dict[str, object]] = {
    "online": {**ONLINE, "tax": REVERSE_CHARGE},
    "offline": {**OFFLINE, "tax": STANDARD},
}

GROUPS_REDUCED = {**STANDARD, "by_category": {"Groups": {"scheme": "standard", "percent": "6"}}}
LANGUAGES = ("en", "de", "fr", "es", "nl")
UNREGISTERED: dict[str, object] = {"legal_name": None, "address": None, "country": None, "tax": None}
HISTORY: dict[str, list[dict[str, object]]] = {
    "online": [
        {"valid_from": "2000-01-01", "tax": REVERSE_CHARGE, "collects": "marketplace"},
        {"valid_from": "2015-06-17", "tax": {**STANDARD, **BUSINESS}, "collects": "marketplace"},
        {"valid_from": "2015-07-01", "tax": {"scheme": "outside_scope", **BUSINESS}},
        {"valid_from": "2016-02-29", "tax": REVERSE_CHARGE, "collects": "marketplace"},
    ],
    "offline": [
        {"valid_from": "2000-01-01", "tax": STANDARD},
        {"valid_from": "2015-06-09", "tax": GROUPS_REDUCED},
        {"valid_from": "2015-07-10", "tax": {"scheme": "exempt"}, "collects": "marketplace"},
        {"valid_from": "2015-07-20", "tax": GROUPS_REDUCED, "collects": "marketplace"},
        {"valid_from": "2016-03-15", "tax": GROUPS_REDUCED},
    ],
    "changing": [
        {"valid_from": "2000-01-01", "tax": {"scheme": "standard", "percent": "20"}},
        {"valid_from": "2015-08-01", "tax": {"scheme": "standard", "percent": "21"}},
        {"valid_from": "2015-10-10", "tax": REVERSE_CHARGE},
        {"valid_from": "2016-01-01", "tax": {"scheme": "exempt"}, "collects": "marketplace"},
        {"valid_from": "2016-03-15", "tax": {"scheme": "standard", "percent": "21"}, "collects": "marketplace"},
        {"valid_from": "2016-05-01", "tax": {"scheme": "standard", "percent": "20"}},
    ],
    "late": [
        {"valid_from": "2000-01-01", **UNREGISTERED},
        {"valid_from": "2015-07-01", "registered_at": "2015-07-20", "tax": {"scheme": "standard", "percent": "21"}},
        {"valid_from": "2015-12-10", "registered_at": "2016-02-10", "tax": REVERSE_CHARGE},
        {"valid_from": "2016-06-01", "registered_at": "2016-04-20", "tax": {"scheme": "exempt"}},
    ],
}
"""The versions of an agent, each from a midnight UTC on: by group, or of every fourth agent."""


def history(agent: str, group: str) -> str:
    """Return the name of an agent's history."""
    return {0: "changing", 3: "late"}.get(int(agent) % 4, group)


parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
parser.add_argument("--history", action="store_true", help="give the agents several versions")
parser.add_argument("--collects", choices=("agency", "marketplace"), help="who collects, in every version")
args = parser.parse_args()
always = {"collects": args.collects} if args.collects else {}

segments: defaultdict[str, Counter[str]] = defaultdict(Counter)
for row in csv.DictReader(sys.stdin):
    segments[row["agent"]][row["market_segment"]] += 1
segments.pop("NULL", None)

for agent, counts in segments.items():
    group = "online" if counts.most_common(1)[0][0] == "Online TA" else "offline"
    known = {"agency": agent, "legal_name": f"Agent {agent}", "currency": "EUR", "group": group, **TAX[group]}
    if not args.history:
        print(json.dumps({**known, **always}))
        continue
    known["language"] = LANGUAGES[int(agent) % len(LANGUAGES)]
    for version in HISTORY[history(agent, group)]:
        midnights = {
            name: f"{day}T00:00:00Z" for name, day in version.items() if name in {"valid_from", "registered_at"}
        }
        whole = {**known, **version, **always, **midnights}
        print(json.dumps({name: value for name, value in whole.items() if value is not None}))
print(json.dumps(DIRECT))
