"""The OpenAPI document of the HTTP API: made from the functions' routes, and from what is told here beside them."""
