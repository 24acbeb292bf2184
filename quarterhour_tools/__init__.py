"""What runs on people's machines: emulator, operator commands, loading and replaying data, OpenAPI generator."""
