"""Whether somebody is in danger or has a matter that only people handle: by words, by likeness, by a cheap model."""
