"""Whether what customers ask for is what the shop does, and nothing else: `make eval-actions`.

scenarios.yml  what customers say and press, and what has to come of it
playing        plays one scenario in the demo
judging        counts what was right
"""
