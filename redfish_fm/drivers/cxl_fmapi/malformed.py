"""The one error of the codec. Imports nothing but the root of errors."""

from redfish_fm.errors import FmError


class Malformed(FmError):
    """Bytes that are no valid message, or a value that fits no field; the text says which."""
