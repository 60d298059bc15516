#!/usr/bin/env bash
# How fast a day is simulated, against a textbook's heap of events, SSJ, NeXosim, SimPy and Ciw, and
# what a request costs in instructions and cache misses: prints the tables of RESULTS.md.
#   benches/simulate/run.sh [CPU, 0]
# BASELINE=PROGRAM, a bench_simulate of another commit: both take turns instead (benches/builds.py).
# Pinned to one processor. The others go into the user's cache; what cannot be had is said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PYTHONDONTWRITEBYTECODE=1

cpu=${1:-0}
cargo build --quiet --profile bench --package plimsoll-elastic --example bench_simulate
bench=${CARGO_TARGET_DIR:-target}/release/examples/bench_simulate
# So many requests of the day for cachegrind, and for the other simulators.
few=2000000
many=6000000
compared=400000

pinned() { taskset -c "$cpu" "$@"; }

if [ -n "${BASELINE:-}" ]; then
    exec python3 benches/simulate/baseline.py "$bench" --core "$cpu"
fi

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
here=$PWD/benches/simulate
mkdir -p "$cache"

# What runs a peer: a command that takes a number of requests, or nothing where it cannot be had.
simpy() { printf '%s %s' "$cache/bin/python" "$here/simpy_mm21.py"; }
ciw() { printf '%s %s' "$cache/bin/python" "$here/ciw_mm21.py"; }
ssj() { printf '%s' "java -cp $cache/ssj:$cache/ssj/* Mm21"; }
nexosim() { printf '%s' "$cache/nexosim/release/nexosim-mm21"; }

if [ ! -x "$cache/bin/python" ]; then
    python3 -m venv "$cache" || printf 'no virtual environment: python3-venv is not installed\n'
fi
if ! "$cache/bin/python" -c 'import simpy, ciw' 2>/dev/null; then
    "$cache/bin/pip" install --quiet simpy==4.1.2 ciw==3.2.7 || printf 'not installed: SimPy, Ciw\n'
fi
{
    [ -e "$cache/ssj/ssj-3.3.2.jar" ] || mvn --batch-mode --quiet --file "$here/ssj/pom.xml" \
        dependency:copy-dependencies -DoutputDirectory="$cache/ssj"
    javac -cp "$cache/ssj/*" -d "$cache/ssj" "$here/ssj/Mm21.java"
} >&2 || printf 'not built: SSJ, which takes a JDK and Maven\n'
# Where its lock file may be written.
mkdir -p "$cache/nexosim-source" && cp -r "$here/nexosim/." "$cache/nexosim-source"
CARGO_TARGET_DIR=$cache/nexosim cargo build --quiet --release \
    --manifest-path "$cache/nexosim-source/Cargo.toml" >&2 || printf 'not built: NeXosim\n'

printf '| | | requests | requests a second | mean response | off by | × slower |\n'
printf '| --- | --- | --- | --- | --- | --- | --- |\n'
read -r requests seconds response wanted <<<"$(pinned "$bench" --queue 20000000)"
ours=$(awk -v n="$requests" -v s="$seconds" 'BEGIN { print n / s }')
row() {
    awk -v name="$1" -v of="$2" -v n="$3" -v s="$4" -v r="$5" -v w="$wanted" -v ours="$ours" 'BEGIN {
        printf "| %s | %s | %d | %.0f | %.4f | %+.2f%% | %.1f |\n",
            name, of, n, n / s, r, 100 * (r / w - 1), ours / (n / s) }'
}
printf '| Erlang C | | | | %s | | |\n' "$(awk -v w="$wanted" 'BEGIN { printf "%.4f", w }')"
row plimsoll Rust "$requests" "$seconds" "$response"
for peer in 'SSJ 3.3.2:Java:ssj:20' 'NeXosim 1.0.0:Rust:nexosim:10' 'SimPy 4.1.2:Python:simpy:1' \
    'Ciw 3.2.7:Python:ciw:1'; do
    IFS=: read -r name language of times <<<"$peer"
    # shellcheck disable=SC2046 # a command and its arguments
    if read -r n s r <<<"$(pinned $("$of") "$((times * compared))")" && [ -n "$r" ]; then
        row "$name" "$language" "$n" "$s" "$r"
    else
        printf '| %s | %s | not run | | | | |\n' "$name" "$language"
    fi
done
