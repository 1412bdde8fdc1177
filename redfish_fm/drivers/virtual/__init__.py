"""A whole fabric in memory: topology, hardware that refuses what hardware refuses, faults."""
