"""The loop, its tools and its adapter."""
