"""Billing: posts the items of a paid order to the ledger, and their refunds when it is cancelled."""
