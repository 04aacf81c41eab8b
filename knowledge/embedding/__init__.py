"""Texts to vectors. `embedder` defines the protocol; `table`, `folder` and `openai` implement it."""
