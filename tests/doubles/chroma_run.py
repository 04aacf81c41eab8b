"""`chroma run` as a module, which a fork can be: Chroma is imported once, and not by each server."""

from chromadb.cli.cli import app

if __name__ == "__main__":
    app()
