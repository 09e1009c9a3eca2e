"""`make bench`: run every measurement, print a table, write benchmarks/results/latest.json."""

import json

from benchmarks import learning, metrics, sparse_coding, whole_program
from benchmarks._data import ROOT

figures: dict[str, float] = {}
for benchmark in (sparse_coding, learning, metrics, whole_program):
    print(benchmark.__doc__)
    measured = benchmark.run()
    figures |= measured
    for name, value in measured.items():
        print(f"  {name:46} {value:12,.4g}")
latest = ROOT / "benchmarks" / "results" / "latest.json"
latest.parent.mkdir(exist_ok=True)
latest.write_text(json.dumps(figures, indent=2) + "\n")
print(f"wrote {latest.relative_to(ROOT)}")
