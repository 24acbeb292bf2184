"""The proof of statements: recomputes and compares everything from sealed files alone."""
