"""Conversations as customers have them in the demo, played through the running product and judged.

visitors.jsonl frontdesk.jsonl    the conversations, one JSON object a line; README.md says what stands in them
world.py       the demo, started and watched from outside
reading.py     what a message says to a person who reads it
playing.py     a conversation, message by message
patterns.py    the words that checks look for
judging.py     what is wrong with a conversation
"""
