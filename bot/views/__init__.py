"""Everything that Slack shows: pure functions that build blocks from simple values."""
