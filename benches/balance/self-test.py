"""The self-test of instances: ten on one place, and five with half its quota. Goal: coefficient of
variation of the score at most 3%, half the quota scores 0.50 ± 0.05. Needs root, for a cgroup."""

import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

PERIOD_US = 10_000
V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


def cgroup():
    """A new cgroup, and what sets its quota: a share of a core."""
    name = f"plimsoll-self-test-{os.getpid()}"
    if (V1 / "cpu.cfs_quota_us").exists() or (V1 / "cpu.shares").exists():
        folder = V1 / name
        folder.mkdir()
        (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        return folder, lambda share: (folder / "cpu.cfs_quota_us").write_text(str(int(share * PERIOD_US)))
    folder = V2 / name
    folder.mkdir()
    return folder, lambda share: (folder / "cpu.max").write_text(f"{int(share * PERIOD_US)} {PERIOD_US}")


def steal():
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return fields[7], sum(fields)


def score(folder, disk):
    enters = f"echo $$ > {folder}/cgroup.procs; exec taskset -c 1 \"$0\" testbed self-test --json {disk}"
    said = subprocess.run(["bash", "-c", enters, os.environ["PLIMSOLL"]], capture_output=True,
                          text=True, check=True)
    return json.loads(said.stdout)["cpu"]


def main():
    folder, quota = cgroup()
    try:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as disk:
            before = steal()
            quota(1.0)
            whole = [score(folder, disk) for _ in range(10)]
            quota(0.5)
            half = [score(folder, disk) for _ in range(5)]
            stolen = [b - a for a, b in zip(before, steal())]
    finally:
        folder.rmdir()
    variation = statistics.stdev(whole) / statistics.mean(whole)
    ratio = statistics.mean(half) / statistics.mean(whole)
    print(f"score {statistics.mean(whole):.1f}, coefficient of variation {100 * variation:.2f}%, "
          f"half the quota {ratio:.3f} of it, steal {100 * stolen[0] / stolen[1]:.2f}%")
    holds = variation <= 0.03 and 0.45 <= ratio <= 0.55
    print("holds" if holds else "does not hold")
    raise SystemExit(0 if holds else 3)


main()
