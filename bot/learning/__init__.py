"""Suggestions for articles, written from cases that people solved."""
