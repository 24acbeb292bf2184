"""The emulator: runs the template and its functions on one machine."""
