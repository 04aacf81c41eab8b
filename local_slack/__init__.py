"""A local Slack: Web API, Socket Mode, signed HTTP events and the people of one small workspace."""
