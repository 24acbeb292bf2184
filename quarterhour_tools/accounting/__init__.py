"""Files for other systems, from sealed statements: journals, VAT, DAC7 and payouts."""
