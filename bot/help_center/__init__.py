"""`/kb`: the knowledge base as staff see it, its refreshes, and the articles that staff added."""
