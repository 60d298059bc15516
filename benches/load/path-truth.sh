#!/usr/bin/env bash
# Path truth, the long form: M/M/1 and M/M/4 at 50, 80 and 90%, what a run says against what the queue
# made of the same requests. Wants a machine that does nothing else.
#   bash benches/load/path-truth.sh [SECONDS of each of the six, 60] [REQUESTS at 50% at least, 0] [QUEUE]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo build --quiet --profile bench --package plimsoll --bin plimsoll --example path_truth
built="${CARGO_TARGET_DIR:-target}/release"
exec "$built/examples/path_truth" "$built/plimsoll" "${1:-60}" "${2:-0}" ${3:+"$3"}
