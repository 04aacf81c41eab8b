"""From a Slack event to a stored row, and from the row to the turn that works on it."""
