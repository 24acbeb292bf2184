"""The OpenAPI document of the HTTP API: generated from the functions' routes and the descriptions in this package."""
