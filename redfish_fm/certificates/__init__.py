"""The certificates of a running service: served, shown, replaced, and those of clients."""
