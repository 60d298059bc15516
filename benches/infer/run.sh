#!/usr/bin/env bash
# The load inferred from probes, on simulated queues whose load is known: the table of RESULTS.md.
#   benches/infer/run.sh [REPETITIONS of each case, 200 [CASE [with|without]]]
# With --calibrate, without, or both.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo build --quiet --release --package plimsoll-capacity --example bench_infer
exec "${CARGO_TARGET_DIR:-target}/release/examples/bench_infer" "$@"
