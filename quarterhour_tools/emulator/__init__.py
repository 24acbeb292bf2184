"""The emulator: runs the template's functions, tables, streams and schedules on one machine."""
