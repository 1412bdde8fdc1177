"""The Fabric Manager API of CXL switches: codec without I/O, links, and a client of one switch."""
