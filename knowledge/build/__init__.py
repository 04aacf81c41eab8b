"""How the next generation is made: `plan` compares, `process` builds, `builder` runs it as a child process."""
