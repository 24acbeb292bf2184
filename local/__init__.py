"""The whole system on one machine, and the command line `quarterhour`."""
