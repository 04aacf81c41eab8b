"""Repairs of what models write outside of the protocol."""
