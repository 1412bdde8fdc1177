"""Helpers for other projects' tests: a fabric service in a process of its own, on a free port.

May use the client and start the application; no room may import it. The pytest plug-in arrives
with the client issue.
"""
