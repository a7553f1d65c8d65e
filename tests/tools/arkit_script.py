#!/usr/bin/env python3
"""A recorded ARKit take (CSV: time_s, then one column a shape, 0 .. 1) as a script for `sinew play`,
`sinew record` and `sinewd eval --script`.

    python3 tests/tools/arkit_script.py take.csv > take.jsonl
    python3 tests/tools/arkit_script.py take.csv tongueOut > take.jsonl     # without shapes that the face lacks
"""
import csv
import json
import sys


def lines(path, without=()):
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            values = {k: float(v) for k, v in row.items() if k != "time_s" and v and k not in without}
            yield {"t_s": float(row["time_s"]), "face": values}


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for line in lines(sys.argv[1], sys.argv[2:]):
        print(json.dumps(line))
