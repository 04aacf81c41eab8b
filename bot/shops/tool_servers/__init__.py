"""Servers of the Model Context Protocol: the tools that an operator has chosen and accepted, and nothing else."""
