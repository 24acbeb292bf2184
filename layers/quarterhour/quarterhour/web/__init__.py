"""HTTP: events in and responses out, routes, access, parameters, pages."""
