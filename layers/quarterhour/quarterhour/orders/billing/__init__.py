"""Billing: posts a sale of each item of a paid order to the ledger, and refunds when the order is cancelled."""
