"""Statements: listed, downloaded, opened as PDF and electronic invoices; drafts listed and decided."""
