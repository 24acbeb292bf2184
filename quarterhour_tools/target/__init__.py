"""Reaching a deployed stack or an emulator: which one the arguments select, its API, its functions and its files."""
