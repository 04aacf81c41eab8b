"""Tests of bot/actions."""
