"""Whole conversations through the demo world: the product is a child process, spoken to over its real protocols."""
