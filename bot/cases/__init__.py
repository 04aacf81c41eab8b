"""Handling by people: cases, their cards, and the relay between customer and staff."""
