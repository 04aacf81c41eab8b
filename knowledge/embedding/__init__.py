"""Texts into vectors. `embedder` holds the role; `table`, `folder` and `openai` fill it."""
