#!/usr/bin/env bash
# Made the runs of this folder, by the program $1 of commit 1aa0c58b (2026-11-30); what it said of each
# is the output of its `runs show --json` and `analyse --json`.
P=$1; rm -rf out; mkdir out; cd out
$P target --listen 127.0.0.1:23991 --service-time exp:3ms --workers 4 > /dev/null 2>&1 & T=$!
$P target --listen 127.0.0.1:23992 --service-time exp:10ms --workers 1 > /dev/null 2>&1 & T2=$!
sleep 0.5; U=http://127.0.0.1:23991/; S=http://127.0.0.1:23992/
cat > users.toml <<'S'
[[step]]
name = "home"
get = "/"
[[step]]
name = "item"
get = "/item?n={{random:1..9}}"
S
cat > experiment.toml <<'S'
name = "two rates"
seed = 4
[experiment]
replications = 2
respond = ["p50", "rate"]
[factor]
"load.rate" = ["50/s", "100/s"]
[target]
url = "http://127.0.0.1:9/"
[load]
rate = "50/s"
for = "5s"
arrivals = "poisson"
[instance]
service = "exp:3ms"
S
cat > pool.toml <<'S'
name = "a pool"
seed = 2
[load]
schedule = "20/s for 5m, 60/s for 5m"
[instance]
service = "exp:70ms"
boot = "const:30s"
price = 0.17
[pool]
max = 6
[measure]
slo = "p90<1s"
[policy.hpa]
kind = "hpa"
S
printf 'time,url,size\n' > requests.csv
python3 - >> requests.csv <<'Y'
import random
random.seed(1)
for i in range(600): 
    n=int(random.paretovariate(0.8)); print(f"{i},/o{n%90},{100+(n*37)%900}")
Y
$P load $U --rate 100/s --for 4s --seed 3 --name "a load" --slo 'p50<10s' -q > load.txt
$P load $U --scenario users.toml --users 3 --for 2s --seed 3 --name "users" -q > users.txt
$P capacity $S --slo 'p90<50ms' --max-time 80s -q > search.txt
$P run pool.toml --simulated -q > pool.txt
$P run experiment.toml --simulated -q > experiment.txt
$P capacity $S --slo 'p90<50ms' --max-time 40s --repeat 2 -q > series.txt
$P cache simulate --trace requests.csv --policy lru,fifo --size 10%obj --json > caches.json
kill $T $T2
sed 's/replications = 2/replications = 30/; s/two rates/unfinished/' experiment.toml > unfinished.toml
$P run unfinished.toml --simulated -q --budget 60ms > unfinished.txt
ls -la . runs; du -sh runs/*
