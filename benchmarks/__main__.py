"""`make bench`: run every measurement, print a table, write benchmarks/results/latest.json."""

import time

from benchmarks import growth, learning, metrics, quality, sparse_coding, whole_program
from benchmarks._data import print_figures, save_figures

figures: dict[str, float] = {}
for benchmark in (sparse_coding, learning, metrics, whole_program, growth, quality):
    print(benchmark.__doc__.splitlines()[0])
    began = time.perf_counter()
    measured = benchmark.run()
    print_figures(measured)
    print(f"  ({time.perf_counter() - began:.0f} s)\n")
    figures |= measured
save_figures(figures, keep=False)
