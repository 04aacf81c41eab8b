"""Metrics, the report, and what a turn did."""
