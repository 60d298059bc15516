#!/usr/bin/env bash
# apps/market/stores.sh FOLDER [MARIADB-PORT [REDIS-PORT]]: MariaDB and Redis for a market, on ports of
# the loopback (19306 and 19379), all that they keep below FOLDER. They run until this is interrupted or
# terminated; what MariaDB has is there the next time. Needs Debian's mariadb-server and redis-server.
set -euo pipefail

[ "$#" -ge 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
mariadb_port=${2:-19306}
redis_port=${3:-19379}
PATH=$PATH:/usr/sbin
export TMPDIR=$folder

if ! [ -d "$folder/data" ]; then
    mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal \
        --datadir="$folder/data" >"$folder/install.log" 2>&1
fi
mariadbd --no-defaults --user="$(id -un)" --datadir="$folder/data" --socket="$folder/mariadb.sock" \
    --pid-file="$folder/mariadb.pid" --bind-address=127.0.0.1 --port="$mariadb_port" \
    --skip-name-resolve --max-connections=500 --innodb-flush-log-at-trx-commit=2 \
    >"$folder/mariadb.log" 2>&1 &
mariadb=$!
redis-server --bind 127.0.0.1 --port "$redis_port" --dir "$folder" --save '' --appendonly no \
    >"$folder/redis.log" 2>&1 &
redis=$!
trap 'kill "$mariadb" "$redis" 2>/dev/null; wait' EXIT
trap 'exit 0' INT TERM

for _ in $(seq 300); do
    if mariadb --no-defaults --user=root --socket="$folder/mariadb.sock" 2>/dev/null \
        -e "CREATE DATABASE IF NOT EXISTS market; GRANT ALL ON market.* TO market@'127.0.0.1' IDENTIFIED BY 'market'"; then
        printf -- '--database mysql://market:market@127.0.0.1:%s/market --redis redis://127.0.0.1:%s/\n' \
            "$mariadb_port" "$redis_port"
        wait -n "$mariadb" "$redis" || true
        printf 'a store has ended: see %s\n' "$folder/*.log" >&2
        exit 1
    fi
    kill -0 "$mariadb" 2>/dev/null || break
    sleep 0.1
done
printf 'MariaDB does not start: see %s\n' "$folder/mariadb.log" >&2
exit 1
