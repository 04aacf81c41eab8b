"""The sentences of every language, and the words by which messages are understood."""
