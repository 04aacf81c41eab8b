"""Programs for those who work on Frontdesk; no part of the product."""
