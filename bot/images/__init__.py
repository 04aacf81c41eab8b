"""Images that customers send: fetched from Slack for one answer, made small for a model, and never stored."""
