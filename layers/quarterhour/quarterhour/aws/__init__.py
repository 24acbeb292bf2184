"""Shared access to AWS: clients, retries, table calls, the Entity table, streams, settings and telemetry."""

import gc

# Loading botocore makes a hundred thousand objects that live as long as the process. By default, Python looks for
# garbage among them after every few hundred, which is a fifth of a cold start.
gc.set_threshold(100_000)
