"""The webhooks of shops and payment providers: what a delivery's payload says, as billing events."""
