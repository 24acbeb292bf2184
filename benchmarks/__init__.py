"""Benchmarks of what Quarterhour promises to cost: run them with ``python -m benchmarks``."""
