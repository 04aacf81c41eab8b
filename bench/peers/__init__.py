"""Frameworks that bench.loop measures where they are installed, each with its own way to run the same turn."""
