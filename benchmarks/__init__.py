"""Benchmarks of speed, memory and quality, compared with other programs and with the paper."""
