"""What worker processes do, one module each: `run(task, tell)` returns the result."""
