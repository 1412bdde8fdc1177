"""The protocol: requests, documents, errors, sessions and privileges of Redfish, by tables."""
