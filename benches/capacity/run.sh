#!/usr/bin/env bash
# Methods of search against servers whose capacity is known, in simulation: the tables of RESULTS.md.
#   benches/capacity/run.sh [REPETITIONS of each queue, 200; half as many of each odd server]
#   benches/capacity/run.sh REPETITIONS CASE [FIRST_SEED]      one case, or all that begin so
#   benches/capacity/run.sh REPETITIONS stalls [FIRST_SEED]    servers that stand still once
# All cases are taken one after the other, and each is kept in a folder ($BENCH_CAPACITY, by default
# target/bench-capacity) when it is done: what was ended goes on with the next one. Remove the folder
# to begin anew. Seeds are those from 5,000 on: lower ones were looked at while the methods were made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo build --quiet --release --package plimsoll-capacity --example bench_capacity
bench="${CARGO_TARGET_DIR:-target}/release/examples/bench_capacity"
if (($# > 1)); then exec "$bench" "$@"; fi

times=${1:-200}
first=5000
folder=${BENCH_CAPACITY:-${CARGO_TARGET_DIR:-target}/bench-capacity}/$times
mkdir -p "$folder"
number=0
while IFS= read -r case; do
    number=$((number + 1))
    done=$(printf '%s/%02d' "$folder" "$number")
    [[ -f $done ]] && continue
    echo "$case" >&2
    # A case beyond its bounds ends with 1; what ends otherwise is not kept.
    "$bench" "$times" "=$case" "$first" >"$done.part" || (($? == 1))
    mv "$done.part" "$done"
done < <("$bench" 0 list)

rows() { cat "$folder"/[0-9][0-9] | grep "$@" || true; }
echo "$times repetitions a queue, $(((times + 1) / 2)) an odd server; bold: beyond its bound"
echo
rows '^| case ' | head -1
echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
rows -E '^\| M/'
echo
rows '^| odd server' | head -1
echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
rows -E '^\| odd: '
echo
rows -E '^(far off|very long|bracket aside|not found):'
beyond=$(rows '^beyond their bounds: ' | sed 's/^beyond their bounds: //' | grep -vx none | paste -sd';' | sed 's/;/; /g')
echo "beyond their bounds: ${beyond:-none}"
[[ -z $beyond ]]
