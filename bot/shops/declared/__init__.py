"""A connector that a YAML file describes: any HTTP API, without a line of code."""
