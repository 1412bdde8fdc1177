"""`python -m redfish_fm` is the command `redfish-fm`."""

from redfish_fm.cli import main

if __name__ == "__main__":
    main()
