"""A client for any Redfish service; knows HTTP and JSON, no other room of this package.

Used by the command line and by `redfish_fm.testing`.
"""
