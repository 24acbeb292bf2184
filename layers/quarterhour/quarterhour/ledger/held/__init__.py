"""Held events: reserved while they are recorded, posted later, listed, and released or discarded.

Recording reserves an event, so it imports what a held event is: ``held_event.py``, ``keys.py``, ``store.py``. To post
one is to record it again, so ``plan.py`` and ``service.py`` import the recorder. To decide about one does not.
"""
