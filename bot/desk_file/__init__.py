"""The shop's own words: one YAML file, what it can say, how it is read, and how it is followed while it changes."""
