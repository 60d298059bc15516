#!/usr/bin/env bash
# Look-ups of a registry while caches come and go, as many as it answers and at a rate, while all
# expire at once, and over caches, connections and threads: the tables and the drawing of RESULTS.md.
# Needs wrk and two cores; a database of places by GEO=FILE, else clients cannot be located.
#   benches/shoal/run.sh [WINDOWS 3] [SECONDS 8]
# BASELINE=PROGRAM: the look-ups of another build of it instead, both taking turns (benches/builds.py).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v wrk >/dev/null || { echo "wrk is not installed: apt-get install wrk"; exit 2; }
cargo build --quiet --profile bench --package plimsoll
cargo build --quiet --profile bench --package plimsoll-shoal --example feed_heartbeats
target=${CARGO_TARGET_DIR:-target}/release
feeder=$target/examples/feed_heartbeats
places=(${GEO:+--geo "$GEO"})
if [ -n "${BASELINE:-}" ]; then
    exec python3 benches/shoal/baseline.py "$target/plimsoll" "$feeder" --seconds "${2:-8}" \
        "${places[@]}"
fi
python3 benches/shoal/lookups.py "$target/plimsoll" "$feeder" \
    --windows "${1:-3}" --seconds "${2:-8}" "${places[@]}"
python3 benches/shoal/steady.py "$target/plimsoll" "$feeder" \
    --windows "${1:-3}" --seconds "${2:-8}" "${places[@]}"
python3 benches/shoal/drawing.py "$target/plimsoll" "$feeder" "${places[@]}"
exec taskset -c 1 python3 benches/shoal/expiry.py "$target/plimsoll" "$feeder" "${places[@]}"
