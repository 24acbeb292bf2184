"""Notifications: one ordered log of what happened, sent to subscriptions as signed webhooks and to a bus."""
