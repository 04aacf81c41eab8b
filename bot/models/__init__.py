"""How models are asked: one module a protocol, the readers of their streams, and what they cost."""
