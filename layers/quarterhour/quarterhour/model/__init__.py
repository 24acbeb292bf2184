"""The values everything else is made of: identifiers, quarter-hours, money, totals, instants, fields, errors."""
