"""The knowledge base: documents in, cited passages out. A library; it knows nothing of Slack or of agents.

In reading order: `knowledge_base` is what a program holds, `questions` what is looked up of a message, `index` one
opened generation, `fuse` and `passages` how evidence is ranked and cut to a budget. How a generation comes to be:
`builder` starts the process `build`, which has `sources` read into `documents` by a process with limits
(`sources.isolation`), takes out what nobody sees (`text`) and what nobody should (`secrets`), cuts them (`chunking`,
`markdown`), embeds them (`embedding`), keeps them in SQLite (`catalog`, `keywords`) and Chroma (`vectors`), measures
the floor (`calibration`) and publishes the whole (`generations`).
"""
