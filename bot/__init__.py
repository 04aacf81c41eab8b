"""Frontdesk's engine: from a Slack message to an answer, an action or a person."""
