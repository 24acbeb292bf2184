"""Replay: sends files of events through the emulator on a virtual clock."""
