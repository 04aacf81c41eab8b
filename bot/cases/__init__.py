"""A human takes over: the case, its card, the relay."""
