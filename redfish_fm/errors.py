"""The one root of every error this package raises on purpose.

Imports nothing. Every room derives its own errors from FmError, so a caller can catch
"all of ours" without naming rooms.
"""


class FmError(Exception):
    """Root of all errors raised by redfish_fm itself; never raised directly."""
