"""Everything that fails outside of the product, once and for good, on the running product.

test_model     F1-F12    the model
test_slack     F13-F21   Slack: posts, streams, the agent channel, the connection, the token
test_shop      F22, F23  the shop
test_storage   F28-F31, F43   the disk and the database
test_process   F34, F35, F37-F41, F45   signals, memory, descriptors, bursts, a log that nobody reads
test_input     F36, F39, F47   what comes in
test_desk      F48       people and the assistant at the same time

Held elsewhere: single stream calls that fail (F14, F16: tests/stories/test_failures, tests/slack/test_stream), streams
of a model in every broken form (F6-F8: tests/agent/test_streams), edits and deletions (F20: tests/stories), the
knowledge base (F24-F27: tests/stories/test_damage, tests/knowledge), damaged and older databases (F32, F46:
tests/store/test_migrations), kill -9 (F33: tests/chaos), budgets while clocks jump (F36: tests/desk/test_budgets,
tests/store/test_limits), a second process (F42: tests/stories/test_failures), settings (F44: tests/test_settings),
files (F49: tests/slack/test_files, tests/cases/test_files).
docs/guides/operations.md has a heading for each, with symptoms and what to do.
"""
