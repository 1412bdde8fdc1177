"""redfish_fm: a Redfish and Swordfish fabric manager, emulator and gateway in one service."""

__version__ = "0.1.0"
