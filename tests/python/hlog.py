#!/usr/bin/env python3
"""Whether Python's HdrHistogram finds the same in a run's latency.hlog as this program does.

    hlog.py RUN HLOG_BUCKETS

RUN is a run's folder, HLOG_BUCKETS the built example of that name (crates/cli/examples). Prints one
line a tag and `equal` or `unequal`; ends with 1 where they differ. Needs `pip install hdrhistogram`,
and skips by name without it.
"""

import collections
import os
import subprocess
import sys

try:
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogReader
except ImportError:
    print("skipped: the check of latency.hlog by Python needs the package hdrhistogram")
    sys.exit(0)

# Any range will do that holds what was written: three digits, as the file has.
RANGE = (1, (1 << 44) - 1, 3)
# Histograms of seconds rather than of requests, which the example does not print.
OF_SECONDS = {"turn", "timer_late"}


def theirs(run):
    """Counts by tag and lowest value of the bucket, as Python's reader has them."""
    sums = {}
    reader = HistogramLogReader(os.path.join(run, "latency.hlog"), HdrHistogram(*RANGE))
    while (histogram := reader.get_next_interval_histogram()) is not None:
        sums.setdefault(histogram.get_tag(), HdrHistogram(*RANGE)).add(histogram)
    counts = {}
    for tag, histogram in sums.items():
        if tag in OF_SECONDS:
            continue
        buckets = counts[tag] = collections.Counter()
        for item in histogram.get_recorded_iterator():
            lowest = histogram.get_lowest_equivalent_value(item.value_iterated_to)
            buckets[lowest] += item.count_at_value_iterated_to
    return counts


def ours(run, example):
    """The same, as this program has them."""
    counts = collections.defaultdict(collections.Counter)
    printed = subprocess.run([example, run], check=True, capture_output=True, text=True).stdout
    for line in printed.splitlines():
        tag, lowest, count = line.split()
        counts[tag][int(lowest)] += int(count)
    return dict(counts)


def main():
    run, example = sys.argv[1:]
    one, other = ours(run, example), theirs(run)
    for tag in sorted(one.keys() | other.keys()):
        mine, read = one.get(tag, {}), other.get(tag, {})
        verdict = "equal" if mine == read else "UNEQUAL"
        print(f"{tag}: {sum(mine.values())} values in {len(mine)} buckets, {verdict}")
    print("equal" if one == other and one else "unequal")
    return 0 if one == other and one else 1


if __name__ == "__main__":
    sys.exit(main())
