"""The DMTF validators against the real service over TLS; `python -m tests.conformance`."""
