"""Tests of the server room, over real sockets."""
