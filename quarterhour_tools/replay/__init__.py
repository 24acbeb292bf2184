"""Replay: sends files, or a made-up day, through the emulator on a virtual clock."""
