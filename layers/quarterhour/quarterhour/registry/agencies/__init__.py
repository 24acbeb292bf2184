"""Agencies: their registration as documents, with address, tax profile and group, each version from an instant on."""
