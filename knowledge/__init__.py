"""The knowledge base: documents in, cited passages out. It is a library that knows nothing of Slack or of agents.

Read it in this order. `knowledge_base` is what a program uses. In `search`, `questions` turns a message into lookups,
`index` is one opened generation, and `fuse` and `passages` rank the evidence and cut it to a budget.

A generation is made in `build`. `builder` starts the process `process`. Another process with limits
(`sources.isolation`) reads `sources` into `documents` for it. It removes what no one sees (`text`) and what no one
should (`secrets`), cuts the documents (`chunking`, `markdown`) and embeds the chunks (`embedding`). It stores these in
SQLite (`catalog`, `keywords`) and Chroma (`vectors`), measures the answer threshold (`calibration`) and publishes all
(`generations`).
"""
