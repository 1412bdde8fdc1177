"""Durable state: what was acknowledged is here, and nothing else is."""
