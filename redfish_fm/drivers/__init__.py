"""Southbound adapters: each drives one kind of fabric, real or simulated."""
