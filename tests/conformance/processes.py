"""How the tools are run."""

import os


class ToolFailed(Exception):
    """A validator ended without a result, which is neither a pass nor a failure of ours."""


def tool_environment() -> dict[str, str]:
    """Return the environment for a DMTF tool.

    A bundle of certificates in the environment defeats the tools' own options, a proxy loopback.
    """
    unwanted = {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}
    return {
        name: value
        for name, value in os.environ.items()
        if name not in unwanted and not name.lower().endswith("_proxy")
    }
