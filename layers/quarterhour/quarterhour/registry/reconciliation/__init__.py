"""The results of comparing a payment provider's file with the ledger, as documents."""
