"""The report schedule: changed at run time, reconciled after deployments, and monitored for delay."""
