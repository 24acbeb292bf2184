"""Files of a bank: CAMT.053, MT940 and CSV, read into lines of one form."""
