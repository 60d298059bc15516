#!/usr/bin/env bash
# How many steps a second users with state take on one core, beside Locust and Artillery, and the
# memory of 10,000 of them: prints the tables of RESULTS.md.
#   benches/scenario/run.sh [SECONDS, 10]
# BASELINE=PROGRAM: another build of it instead, both taking turns (benches/builds.py).
# PLIMSOLL names the program; `make bench-scenario` sets it. The generator has core 0, the server core
# 1. Locust and Artillery go into the user's cache; where one cannot be had, that is said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-10}
program=${PLIMSOLL:-$PWD/target/release/plimsoll}
here=$PWD/benches/scenario
venv=${XDG_CACHE_HOME:-$HOME/.cache}/plimsoll/peers/locust
place=$(mktemp -d)
port=18291
url=http://127.0.0.1:$port

taskset -c 1 "$program" target --listen "127.0.0.1:$port" --sessions >"$place/target" 2>&1 &
target=$!
trap 'kill "$target" 2>/dev/null; rm -rf "$place"' EXIT
for _ in $(seq 100); do
    { exec 3<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null && break
    sleep 0.05
done

if [ -n "${BASELINE:-}" ]; then
    PLIMSOLL=$program python3 "$here/baseline.py" "$url"
    exit
fi

# 5: the generator was busy all the time, which is what is asked for.
busy_all() { [ "$1" -eq 5 ]; }

field() { python3 -c "import json, sys
of = json.load(open(sys.argv[1]))
for key in sys.argv[2].split('.'):
    of = of[int(key) if key.isdigit() else key]
print(of)" "$@"; }

printf '| | users | steps a second | failed | generator, share of a core |\n'
printf '| --- | --- | --- | --- | --- |\n'
ours=0
for users in 1 32 256; do
    taskset -c 0 "$program" load "$url" --scenario "$here/steps.toml" --users "$users" -t 1 \
        --for "${seconds}s" --json --quiet --out "$place/runs" >"$place/ours.json" || busy_all $?
    rate=$(field "$place/ours.json" rate_mean)
    offered=$(field "$place/ours.json" offered)
    failed=$((offered - $(field "$place/ours.json" succeeded)))
    busy=$(field "$place/ours.json" generator.busy_share)
    printf '| plimsoll | %s | %.0f | %s | %.2f |\n' "$users" "$rate" "$failed" "$busy"
    ours=$(awk -v a="$ours" -v b="$rate" 'BEGIN { print (a > b) ? a : b }')
done

# A row of a peer, and how many times as many steps a second we make; said below the table.
times=()
peer() {
    printf '| %s | 32 | %.0f | %s | 1 |\n' "$1" "$2" "$3"
    times+=("$(awk -v a="$ours" -v b="$2" -v of="$1" 'BEGIN { printf "%.1f times as many as %s", a / b, of }')")
}

if [ ! -x "$venv/bin/locust" ]; then
    python3 -m venv "$venv" >&2 && "$venv/bin/pip" install --quiet locust==2.32.4 >&2 || true
fi
if [ -x "$venv/bin/locust" ]; then
    taskset -c 0 "$venv/bin/locust" --headless --locustfile "$here/locustfile.py" --host "$url" \
        --users 32 --spawn-rate 32 --run-time "${seconds}s" --csv "$place/locust" --only-summary \
        >"$place/locust.out" 2>&1 || true
    read -r rate failed < <(python3 - "$place/locust_stats.csv" <<'P'
import csv, sys
rows = {row["Name"]: row for row in csv.DictReader(open(sys.argv[1]))}
print(rows["page"]["Requests/s"], rows["Aggregated"]["Failure Count"])
P
    ) && peer 'Locust (FastHttpUser)' "$rate" "$failed"
else
    printf '| Locust | not installed | | | |\n'
fi

# It tells what it has counted at its end alone, so its users end by themselves.
if artillery=$(.ci/artillery); then
    TARGET=$url ARTILLERY_DISABLE_TELEMETRY=true timeout 180 taskset -c 0 "$artillery" run --quiet \
        --output "$place/artillery.json" "$here/artillery.yml" >"$place/artillery.out" 2>&1 || true
    read -r rate failed < <(python3 - "$place/artillery.json" <<'P'
import json, sys
of = json.load(open(sys.argv[1]))["aggregate"]
counters, long_s = of["counters"], (of["lastMetricAt"] - of["firstMetricAt"]) / 1000
failed = sum(n for name, n in counters.items() if name.startswith("errors."))
failed += sum(n for name, n in counters.items() if name.startswith("http.codes.") and name[-3:] != "200")
print(counters["http.codes.200"] / long_s, failed)
P
    ) && peer Artillery "$rate" "$failed"
else
    printf '| Artillery | not installed: %s | | | |\n' "$artillery"
fi
[ "${#times[@]}" -eq 0 ] || printf '\n%s\n' "${times[@]}"

printf '\n10,000 users who think: '
sed 's/^    { name = "page"/    { think = "exp:2s" },\n&/' "$here/steps.toml" >"$place/thinking.toml"
taskset -c 0 /usr/bin/env bash -c '"$@" & wait $!' _ "$program" load "$url" \
    --scenario "$place/thinking.toml" --users 10000 --connect-rate 2000/s -t 1 \
    --for 12s --json --quiet --out "$place/runs" >"$place/many.json" 2>"$place/many.err" &
sleep 10
pid=$(pgrep -f "$place/thinking.toml --users 10000" | while read -r of; do
    [ "$(readlink "/proc/$of/exe")" = "$(readlink -f "$program")" ] && echo "$of"; done | head -1)
awk '/VmRSS/ { printf "%.0f MB\n", $2 / 1000 }' "/proc/$pid/status" || echo 'not measured'
wait "$!" || true
