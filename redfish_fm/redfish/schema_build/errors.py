"""The one error of the schema builder. Knows nothing else."""

from redfish_fm.errors import FmError


class SchemaBuildError(FmError):
    """The bundles can not be read, contradict each other, or say what the builder does not know."""
