"""What is written down against what is so: documents, manifest, packaging and house rules, held to the code."""
