"""Repairs of what models write besides the protocol."""
