#!/usr/bin/env bash
# Makes ready what the plans of this folder need, once: packages, a wiki of made-up pages in a data
# folder of MariaDB, and lists of its pages. Says what it did and how long it took.
#
#     make mediawiki                     1,000 pages
#     PAGES=200 SEED=2 make mediawiki    others
#     DUMP=my-wiki.xml make mediawiki    the pages of a dump of yours
#
# What it makes lies in data/ beside this file. It is made anew where any of that has changed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data=${DATA:-$here/data}
wiki=/usr/share/mediawiki
pages=${PAGES:-1000} seed=${SEED:-1} dump=${DUMP:-}
begun=$SECONDS

# step NAME COMMAND...: runs one step, and says how long it took.
step() {
    local name=$1 start
    shift
    start=$(date +%s%N)
    "$@"
    printf '%-44s %6.1f s\n' "$name" "$((($(date +%s%N) - start) / 100000000))e-1"
}

packages() {
    local packages=(mediawiki php-fpm php-apcu php-mysql php-mbstring php-xml php-intl nginx-light
        mariadb-server memcached)
    local absent=() package
    command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || absent+=(nginx-light)
    for package in "${packages[@]}"; do
        [ "$package" = nginx-light ] ||
            dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed' ||
            absent+=("$package")
    done
    [ "${#absent[@]}" -eq 0 ] && return
    "$here/../../.ci/install" "${absent[@]}" >&2 || {
        printf 'make mediawiki needs the packages %s\n' "${absent[*]}" >&2
        exit 1
    }
}

make_pages() {
    if [ -n "$dump" ]; then
        php "$here/pages.php" urls "$dump" "$new"
        cp "$dump" "$new/pages.xml"
    else
        php "$here/pages.php" make "$new" "$pages" "$seed"
    fi
    # For scenarios, whose data files name their columns.
    { echo path && cat "$new/pages.txt"; } >"$new/pages.csv"
}

# How MariaDB keeps its files is said to it by recipes/mariadb.toml in the same words.
start_database() {
    local user=()
    [ "$(id -u)" -ne 0 ] || user=(--user=mysql)
    mkdir -m 711 "$new/db" "$new/run"
    [ "$(id -u)" -ne 0 ] || chown mysql "$new/db" "$new/run"
    mariadb-install-db --no-defaults --datadir="$new/db" --skip-test-db \
        --auth-root-authentication-method=normal "${user[@]}" >"$new/install.log" 2>&1
    mariadbd --no-defaults --datadir="$new/db" --socket="$new/run/s" --pid-file="$new/run/pid" \
        --skip-networking --innodb-buffer-pool-size=256M --innodb-log-file-size=16M \
        --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync --innodb-doublewrite=0 \
        "${user[@]}" >"$new/mariadbd.log" 2>&1 &
    database=$!
    for _ in $(seq 200); do
        mariadb-admin --no-defaults -u root -S "$new/run/s" ping >/dev/null 2>&1 && break
        sleep 0.1
    done
    mariadb --no-defaults -u root -S "$new/run/s" -e "CREATE DATABASE wiki"
}

# Maintenance scripts of MediaWiki print much: only what goes wrong is shown.
maintain() {
    php "$wiki/maintenance/$1" "${@:2}" >"$new/said" 2>&1 || {
        tail -n 20 "$new/said" >&2
        exit 1
    }
}

install_wiki() {
    maintain install.php --confpath "$new" --dbtype mysql --dbserver "localhost:$new/run/s" \
        --dbname wiki --dbuser root --dbpass '' --pass "$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')" \
        --server http://wiki.test --scriptpath '' --lang en Wiki Admin
    cat >>"$new/LocalSettings.php" <<'END'
wfLoadSkin( 'Vector' );
$wgMainCacheType = 'hash';
$wgLocalisationCacheConf['store'] = 'array';
$wgLocalisationCacheConf['storeDirectory'] = __DIR__ . '/messages';
END
    mkdir "$new/messages"
}

import() {
    maintain importDump.php --conf "$new/LocalSettings.php" --no-updates "$new/pages.xml"
    # Which links are blue, and who is in which category, is kept in tables of links.
    maintain refreshLinks.php --conf "$new/LocalSettings.php"
    maintain initSiteStats.php --conf "$new/LocalSettings.php" --update
    maintain rebuildLocalisationCache.php --conf "$new/LocalSettings.php" --lang en --force
}

keep() {
    mariadb-admin --no-defaults -u root -S "$new/run/s" shutdown
    wait "$database"
    database=
    tar -C "$new/db" -czf "$new/wiki.tar.gz" .
    mv "$new/messages/en.l10n.php" "$new/en.l10n.php"
    rm -rf "$new/db" "$new/run" "$new/messages" "$new"/*.log "$new/said" "$new/LocalSettings.php"
    chmod 644 "$new"/*
    printf '%s\n' "$made" >"$new/made"
    rm -rf "$data"
    mv "$new" "$data"
}

step 'packages' packages
made=$(
    cat "$here/pages.php" "$here/prepare.sh" ${dump:+"$dump"} | sha256sum
    echo "$pages $seed $(dpkg-query -W -f '${Version}' mediawiki)"
)
if [ "$(cat "$data/made" 2>/dev/null)" = "$made" ]; then
    printf 'ready in %d s: %s was made before\n' "$((SECONDS - begun))" "$data"
    exit
fi
mkdir -p "$(dirname "$data")"
new=$(mktemp -d "$(dirname "$data")/.new-XXXXXX")
chmod 711 "$new"
database=
trap '[ -z "$database" ] || { kill "$database"; wait "$database"; } 2>/dev/null; rm -rf "$new"' EXIT
step "pages, ${dump:-$pages of seed $seed}" make_pages
step 'an empty database' start_database
step 'MediaWiki in it' install_wiki
step 'its pages' import
step 'the data folder, kept' keep
printf 'ready in %d s: %s has %d pages, %s of data\n' "$((SECONDS - begun))" "$data" \
    "$(wc -l <"$data/pages.txt")" "$(du -h "$data/wiki.tar.gz" | cut -f 1)"
