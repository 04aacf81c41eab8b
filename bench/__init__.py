"""Measurements, each a module whose last line of output is one JSON object."""
