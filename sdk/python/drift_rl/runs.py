"""Runs."""
class Run: pass
def runs(*a): pass
def compare(*a): pass
