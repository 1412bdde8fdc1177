"""HTTP: aiohttp to Request/Response and back, TLS, connection limits."""
