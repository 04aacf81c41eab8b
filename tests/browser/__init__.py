"""The page of the demo world in headless Chromium."""
