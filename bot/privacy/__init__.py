"""Removing what a customer deleted from the texts that quote it."""
