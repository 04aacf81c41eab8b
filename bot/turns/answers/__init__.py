"""One answer, from the question to its end. Read `answer` first; `endings` is the table of how an answer can end."""
