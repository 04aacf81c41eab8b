"""Drafts of replies, written for staff."""
