"""Connections: shops and payment providers send their own webhooks, and what they say becomes events."""
