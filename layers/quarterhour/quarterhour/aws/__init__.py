"""How Quarterhour talks to AWS: clients, retries, table calls, the Entity table, streams, settings and telemetry."""
