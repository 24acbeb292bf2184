"""Loading: turns files of events, orders and exchange rates into requests."""
