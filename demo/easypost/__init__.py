"""A stand-in for EasyPost: trackers, signed events, and the parcels of demo/shop."""
