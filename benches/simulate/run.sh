#!/usr/bin/env bash
# How fast a day is simulated, against a textbook's heap of events, SimPy and Ciw, and what a request
# costs in instructions and cache misses: prints the tables of RESULTS.md.
#   benches/simulate/run.sh [CPU, 0]
# Pinned to one processor. SimPy and Ciw go into a virtual environment in the user's cache; what
# cannot be installed is said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PYTHONDONTWRITEBYTECODE=1

cpu=${1:-0}
cargo build --quiet --release --package plimsoll-elastic --example bench_simulate
bench=${CARGO_TARGET_DIR:-target}/release/examples/bench_simulate
# So many requests of the day for cachegrind, and for the other simulators.
few=2000000
many=6000000
compared=400000

pinned() { taskset -c "$cpu" "$@"; }

printf '## One run, processor %s\n\n' "$cpu"
# Both processors for the replications of its last line.
"$bench"

# The difference of two lengths: what starting costs is in both. Prints the instructions, data misses
# of the first level and of the last one, of a request.
counted() {
    local out=() requests log
    for requests in $few $many; do
        log=$(mktemp)
        valgrind --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null --log-file="$log" \
            "$bench" --engine "$1" --instances "$2" --requests "$requests" >"$log.said"
        out+=("$(sed 's/ requests.*//' "$log.said") $(awk '/I +refs/ { i = $NF }
            /D1 +misses/ { d = $4 } /LLd misses/ { l = $4 }
            END { gsub(",", "", i); gsub(",", "", d); gsub(",", "", l); print i, d, l }' "$log")")
        rm -f "$log" "$log.said"
    done
    awk -v a="${out[0]}" -v b="${out[1]}" 'BEGIN {
        split(a, x); split(b, y); n = y[1] - x[1]
        printf "%.1f %.3f %.5f", (y[2] - x[2]) / n, (y[3] - x[3]) / n, (y[4] - x[4]) / n }'
}

if command -v valgrind >/dev/null; then
    printf '\n## A request, by cachegrind\n\n'
    printf '| | instructions | of the engine alone | data misses, first level | last level |\n'
    printf '| --- | --- | --- | --- | --- |\n'
    read -r made _ _ <<<"$(counted requests 20)"
    for of in requests:20 heap:20 fast:20 portable:20 general:20 sharing:20 heap:12 fast:12; do
        name=${of%:*} instances=${of#*:}
        read -r instructions first last <<<"$(counted "$name" "$instances")"
        alone=$(awk -v all="$instructions" -v made="$made" 'BEGIN { printf "%.1f", all - made }')
        printf '| %s, %s instances | %s | %s | %s | %s |\n' \
            "$name" "$instances" "$instructions" "$alone" "$first" "$last"
    done
else
    printf '\nnot installed: valgrind, which counts instructions\n'
fi

printf '\n## M/M/21 at a load of 0.9\n\n'
cache=${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/simulators
if [ ! -x "$cache/bin/python" ]; then
    python3 -m venv "$cache" || printf 'no virtual environment: python3-venv is not installed\n'
fi
if ! "$cache/bin/python" -c 'import simpy, ciw' 2>/dev/null; then
    "$cache/bin/pip" install --quiet simpy==4.1.2 ciw==3.2.7 || printf 'not installed: SimPy, Ciw\n'
fi
printf '| | requests | requests a second | mean response | off by | × slower |\n'
printf '| --- | --- | --- | --- | --- | --- |\n'
read -r requests seconds response wanted <<<"$(pinned "$bench" --queue 20000000)"
ours=$(awk -v n="$requests" -v s="$seconds" 'BEGIN { print n / s }')
row() {
    awk -v name="$1" -v n="$2" -v s="$3" -v r="$4" -v w="$wanted" -v ours="$ours" 'BEGIN {
        printf "| %s | %d | %.0f | %.4f | %+.2f%% | %.0f |\n",
            name, n, n / s, r, 100 * (r / w - 1), ours / (n / s) }'
}
printf '| Erlang C | | | %s | | |\n' "$(awk -v w="$wanted" 'BEGIN { printf "%.4f", w }')"
row plimsoll "$requests" "$seconds" "$response"
for peer in simpy ciw; do
    if read -r n s r <<<"$(pinned "$cache/bin/python" benches/simulate/${peer}_mm21.py $compared)" &&
        [ -n "$r" ]; then
        row "$peer $("$cache/bin/pip" show "$peer" | awk '/^Version/ { print $2 }')" "$n" "$s" "$r"
    else
        printf '| %s | not run | | | | |\n' "$peer"
    fi
done
