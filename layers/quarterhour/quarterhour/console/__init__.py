"""The console: pages for people, served as static files."""
