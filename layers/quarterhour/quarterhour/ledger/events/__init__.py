"""Events as they are sent: reading them from requests, and what people may record."""
