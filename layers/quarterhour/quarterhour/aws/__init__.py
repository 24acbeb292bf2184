"""Shared access to AWS: clients, retries, table calls, the Entity table, streams, settings and telemetry."""
