"""The domain: hosts, units, zones, connections and bindings as pure values and rules."""
