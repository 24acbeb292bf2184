"""Benchmarks of Quarterhour's budgets for cost and speed: run them with ``python -m benchmarks``."""
