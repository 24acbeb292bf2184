"""Readers of the files of others: CSV files by a map, and bank files."""
