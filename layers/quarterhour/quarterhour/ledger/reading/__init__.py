"""Reading recorded events: pages, single events, explanations and stories."""
