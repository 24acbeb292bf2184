"""The OpenAPI document and the API reference, generated from the functions' routes, and descriptions and examples."""
