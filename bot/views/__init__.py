"""Everything that is drawn in Slack: functions from rows to blocks."""
