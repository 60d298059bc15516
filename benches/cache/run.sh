#!/usr/bin/env bash
# The cache lab against its peer: builds the program, and measures (benches/cache/measure.py).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo build --profile bench --package plimsoll
exec python3 benches/cache/measure.py "$@"
