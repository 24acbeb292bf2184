"""Events from the CSV files of others, by a map. `docs/csv.md` describes it."""
