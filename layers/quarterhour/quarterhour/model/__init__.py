"""The value types of the domain: identifiers, quarter-hours, money, totals, instants, fields and errors."""
