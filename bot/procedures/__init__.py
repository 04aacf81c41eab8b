"""Procedures: the support lead's playbooks. Code owns the place in them, and the model reads the present step."""
