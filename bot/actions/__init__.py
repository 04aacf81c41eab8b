"""What the shop changes for customers: the rules by which it may be done, and how it is done once."""
