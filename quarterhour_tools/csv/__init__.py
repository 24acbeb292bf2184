"""`quarterhour csv`: events from the CSV files of others. `docs/csv.md` describes it."""
