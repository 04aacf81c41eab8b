"""Stand-ins for the tests: scripted or recording classes."""
