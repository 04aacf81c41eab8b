"""Whether somebody is in danger or has a matter that only people handle: by a classifier, and by a model beside it."""
