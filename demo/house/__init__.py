"""A house system of another make than demo/shop, for connectors that a file describes."""
