"""Texts into vectors. `embedder` holds the role, `table` and `openai` two ways to fill it."""
