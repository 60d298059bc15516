#!/usr/bin/env bash
# Measures the WebSocket driver: echoes a second beside tsung, the cost of a message beside Artillery,
# and how far the latency and the spread of broadcasts are off. Prints the tables of RESULTS.md.
#   benches/websocket/run.sh [SECONDS, 10] [CONNECTIONS, 10000] [CLIENTS, 18000]
# BASELINE=PROGRAM: another build of it instead, both taking turns (benches/builds.py).
# PLIMSOLL names the program; `make bench-websocket` sets it. The generator has core 0, the server core
# 1. tsung is Debian's package; Artillery goes into the user's cache; where one cannot be had, that is
# said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

export PLIMSOLL=${PLIMSOLL:-$PWD/target/release/plimsoll}
export PYTHONDONTWRITEBYTECODE=1
ulimit -n "$(ulimit -Hn)"

if [ -n "${BASELINE:-}" ]; then
    exec python3 benches/websocket/baseline.py
fi
command -v tsung >/dev/null || .ci/install tsung >&2 || true
if artillery=$(.ci/artillery); then
    export ARTILLERY=$artillery
else
    printf 'Artillery: %s\n' "$artillery" >&2
fi
exec python3 benches/websocket/measure.py "${1:-10}" "${2:-10000}" "${3:-18000}"
