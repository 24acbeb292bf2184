"""The reports' schedule: changed while everything runs, kept against deployments, and watched."""
