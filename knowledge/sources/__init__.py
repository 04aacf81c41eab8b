"""Where documents come from: `files` lists and reads safely, `reader` makes documents of a file, `faq` of a table."""
