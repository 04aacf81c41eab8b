"""Planted faults: whether the tests of the files that decide notice when one of them is wrong."""
