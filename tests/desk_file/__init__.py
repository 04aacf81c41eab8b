"""The desk file: what it can say, how it is read, and how it is followed."""
