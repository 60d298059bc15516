#!/usr/bin/env bash
# Methods of search against queues whose capacity is known, in simulation: the table of RESULTS.md.
#   benches/capacity/run.sh [REPETITIONS of each case, 1000] [CASE] [FIRST_SEED]
#   benches/capacity/run.sh REPETITIONS stalls [FIRST_SEED]    servers that stand still once
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo build --quiet --release --package plimsoll-capacity --example bench_capacity
exec "${CARGO_TARGET_DIR:-target}/release/examples/bench_capacity" "$@"
