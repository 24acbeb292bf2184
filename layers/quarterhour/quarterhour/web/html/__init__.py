"""Pages for people: HTML that prints well and loads nothing."""
