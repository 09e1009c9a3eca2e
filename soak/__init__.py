"""Long runs that look for what tests of single cases do not: `make soak`."""
