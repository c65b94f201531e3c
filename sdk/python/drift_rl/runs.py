"""Runs and their files."""
