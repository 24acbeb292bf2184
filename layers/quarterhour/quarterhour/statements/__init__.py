"""Monthly statements: what each account owes for a period, made from sealed lines alone."""
