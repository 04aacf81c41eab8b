"""Whether somebody is in danger or has a matter that only people handle: by words and by likeness to examples."""
