"""SQL over sealed files on one machine: the tables, views and queries that the template declares for Athena."""
