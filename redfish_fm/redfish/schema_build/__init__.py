"""Builds the schemas folder: what the standards' bundles say, as facts in our own form.

Knows the layout of the published bundles and of our folder; nothing of requests, resources or the
running service, which only read the folder. Needs nothing but the standard library. No sentence
of the bundles passes: every keyword is named in keywords.py, and those that hold prose are
dropped there.
"""

from redfish_fm.redfish.schema_build.errors import SchemaBuildError
from redfish_fm.redfish.schema_build.folder import build, differences, write

__all__ = ["SchemaBuildError", "build", "differences", "write"]
