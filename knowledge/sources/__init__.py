"""Where documents come from: `files` lists and reads safely, `reader` makes documents from a file, `faq` from a
table."""
