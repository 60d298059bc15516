#!/usr/bin/env bash
# Which policy, at which size, for your requests? Compares eviction policies on a trace: what it is,
# the miss ratios of each policy at three sizes with a report, and the miss-ratio curves. Ends with
# the paths of two pages.
#
#   examples/cache/policies.sh [TRACE]     an access log, a table, oracleGeneral, compiled; also gz, zst
#
#   PLIMSOLL=FILE   the program
#   OUT=FOLDER      where the pages go
#   REQUESTS=1M     how long the made-up trace is that stands in where none is given
set -euo pipefail
plimsoll=$(realpath -- "${PLIMSOLL:-$(dirname "${BASH_SOURCE[0]}")/../../target/release/plimsoll}")
out=${OUT:-runs/caches}
[ -x "$plimsoll" ] || {
    printf 'there is no program at %s; build it: make build\n' "$plimsoll" >&2
    exit 2
}
mkdir -p "$out"

trace=${1:-}
if [ -z "$trace" ]; then
    trace=$out/zipf.plt
    "$plimsoll" cache trace reference --requests "${REQUESTS:-1M}" -o "$trace"
fi

echo
"$plimsoll" cache trace info "$trace"
echo
"$plimsoll" cache simulate --trace "$trace" --quiet --size 0.1%,1%,10% --bound \
    --policy lru,lfu,gdsf,sieve,s3fifo,arc,wtinylfu,squid-heap-gdsf --report "$out/policies.html"
echo
"$plimsoll" cache mrc --trace "$trace" --quiet --points 12 --policy lru,sieve,gdsf --rate 10% \
    --report "$out/curves.html"
echo
realpath "$out/policies.html" "$out/curves.html"
