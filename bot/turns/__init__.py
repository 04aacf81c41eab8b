"""From a stored message to an answer, surviving restarts."""
