//! PostgreSQL: a load on it is what it counts itself, and what it refuses is a failure.

use super::{PASSWORD, counts, tries};
use crate::place::Place;
use crate::program::wait_for;
use crate::secrets::assert_nowhere;
use crate::stores::{dies, eight_hundred, prepares_by_variable, writes_two_thousand};
use plimsoll_testing::servers::{Database, Postgres};
use plimsoll_testing::{Weight, may_drop_caches};
use rustix::process::Signal;

/// A database of the PostgreSQL that tests share.
fn shared(test: &str) -> Option<Database> {
    Postgres::shared(test).map(|server| server.database(PASSWORD))
}

fn count(shop: &Database) -> String {
    shop.sql("SELECT COUNT(*) FROM plimsoll")
}

/// What is counted of the table: scans of an index, insertions, updates. A session tells when it
/// ends, at the latest.
fn counted(shop: &Database) -> [u64; 3] {
    let said = shop.sql("SELECT idx_scan, n_tup_ins, n_tup_upd FROM pg_stat_user_tables");
    let mut numbers = said.split('|').map(|number| number.parse().unwrap());
    [(); 3].map(|()| numbers.next().unwrap())
}

#[test]
fn postgres_counts_the_same() {
    let place = Place::new();
    let Some(shop) = shared("postgres_counts_the_same") else { return };
    let url = shop.url();
    let data = ["--records", "2000", "--value-size", "uniform:1B..2KiB"];
    writes_two_thousand(&place, &url, &data);
    assert_eq!(count(&shop), "2000");
    // Once more: the same data set, nothing new.
    let digest = || shop.sql("SELECT md5(string_agg(value, ''::bytea ORDER BY id)) FROM plimsoll");
    let before = digest();
    writes_two_thousand(&place, &url, &data);
    assert_eq!((digest(), count(&shop)), (before, "2000".to_owned()));
    wait_for("the data set to be counted", || {
        let [_, inserted, updated] = counted(&shop);
        (inserted == 2000 && updated == 2000).then_some(())
    });

    let before = counted(&shop);
    let mix = ["--set", "store.mix=read:80%,update:15%,insert:5%", "--connections", "8"];
    let summary = eight_hundred(&place, &url, &[&mix[..], &data].concat());
    assert_eq!(summary["status"]["200"], 800, "no record is missing: {summary}");
    let [_, updates, inserts] = counts(&place);
    // Each looks into the index of the primary key; and the last record, asked for before the load.
    let wanted = [801, inserts, updates];
    wait_for("the load to be counted", || {
        let now = counted(&shop);
        let counted = [0, 1, 2].map(|n| now[n] - before[n]);
        (counted == wanted).then_some(())
    });
    assert_eq!(count(&shop), (2000 + inserts).to_string());
    assert_eq!(summary["connections"]["opened"], 8, "{summary}");
    let run = place.run();
    place.plimsoll(&["report", run.to_str().unwrap()]).ended_with(0);
    assert_nowhere(&place, &[PASSWORD]);
}

#[test]
fn a_record_of_postgres_that_is_not_there_is_a_miss() {
    let place = Place::new();
    let test = "a_record_of_postgres_that_is_not_there_is_a_miss";
    let Some(shop) = shared(test) else { return };
    let url = shop.url();
    place.plimsoll(&["prepare", &url]).ended_with(0);
    shop.sql("DELETE FROM plimsoll");
    let few = ["--workload", "balanced", "--connections", "4"];
    let summary = eight_hundred(&place, &url, &few);
    assert_eq!(summary["status"]["204"], 800, "neither read nor updated: {summary}");
    assert_eq!(count(&shop), "0", "an update makes no record");
    // Several at once on a connection, through a socket; what is new is found.
    place.plimsoll(&["prepare", &url]).ended_with(0);
    let url = shop.url_by_socket();
    let latest = ["--workload", "read-latest", "--streams", "8", "--connections", "2"];
    let summary = eight_hundred(&place, &url, &latest);
    assert_eq!(summary["status"]["200"], 800, "{summary}");
    assert_eq!(summary["connections"]["opened"], 2, "{summary}");
    assert_eq!(count(&shop), "1040", "40 were inserted");
}

#[test]
fn an_error_of_postgres_is_a_failure() {
    let place = Place::new();
    let Some(shop) = shared("an_error_of_postgres_is_a_failure") else { return };
    let url = shop.url();
    place.plimsoll(&["prepare", &url]).ended_with(0);
    shop.sql(&format!("ALTER ROLE {} SET default_transaction_read_only = on", shop.user()));
    let few = ["--workload", "balanced", "--connections", "4"];
    let summary = eight_hundred(&place, &url, &few);
    let [reads, updates, _] = counts(&place);
    assert_eq!(summary["status"]["200"], reads, "{summary}");
    assert_eq!(summary["status"]["403"], updates, "{summary}");
    assert_eq!(summary["errors"]["status"], updates, "{summary}");
}

#[test]
fn who_is_not_let_in_by_postgres_learns_why() {
    let place = Place::weighing(Weight::DATABASE);
    let test = "who_is_not_let_in_by_postgres_learns_why";
    let Some(server) = Postgres::own(test) else { return };
    let shop = server.database(PASSWORD);
    let (user, name) = (shop.user(), shop.name());
    let at = server.address();
    let load = |url: &str| tries(&place, url);
    let none = load(&shop.url()).ended_with(4);
    none.says(&["relation \"plimsoll\" does not exist", "load the data set by `plimsoll prepare`"]);
    let wrong = load(&format!("postgres://{user}:gu3ss@{at}/{name}")).ended_with(4);
    let failed = format!("password authentication failed for user \"{user}\"");
    wrong.says(&[&failed, "hint: check the password"]);
    let other = load(&format!("postgres://{user}:{PASSWORD}@{at}/elsewhere")).ended_with(4);
    other.says(&["database \"elsewhere\" does not exist"]);
    let nobody = load(&format!("postgres://{at}/{name}")).ended_with(2);
    nobody.says(&["no user is named", "postgres://USER@"]);
    // A password that is kept as MD5 is asked for so; a server that wants it in clear is refused.
    let rules = server.folder().join("data/pg_hba.conf");
    let hashed = "SET password_encryption = md5";
    shop.sql(&format!("{hashed}; ALTER ROLE {user} PASSWORD '{PASSWORD}'"));
    let ask_for = |method: &str| {
        let text = format!("local all all trust\nhost all all 127.0.0.1/32 {method}\n");
        std::fs::write(&rules, text).unwrap();
        shop.sql("SELECT pg_reload_conf()");
        let seen = || shop.sql("SELECT auth_method FROM pg_hba_file_rules LIMIT 1 OFFSET 1");
        wait_for("the rule", || (seen() == method).then_some(()));
    };
    ask_for("md5");
    prepares_by_variable(&place, &format!("postgres://{at}/{name}"), &format!("{user}:{PASSWORD}"));
    ask_for("password");
    let clear = load(&shop.url()).ended_with(4);
    clear.says(&["the password itself, which is not sent without TLS", "scram-sha-256"]);
}

/// By SASLprep, as the server does it; what may not be so prepared is hashed as it is.
#[test]
fn passwords_beyond_ascii_are_prepared_as_postgres_does() {
    let place = Place::new();
    let test = "passwords_beyond_ascii_are_prepared_as_postgres_does";
    let Some(server) = Postgres::shared(test) else { return };
    let shop = server.database(PASSWORD);
    let (user, name) = (shop.user(), shop.name());
    let url = format!("postgres://{}/{name}", server.address());
    let (written, prepared) = ("a\u{ad}b\u{a0}c\u{2168}", "ab cIX");
    let forbidden = "\u{e000}\u{ad}";
    let pairs = [(written, written), (written, prepared), (prepared, written)];
    for (kept, sent) in pairs.into_iter().chain([(forbidden, forbidden)]) {
        shop.sql(&format!("ALTER ROLE {user} PASSWORD '{kept}'"));
        prepares_by_variable(&place, &url, &format!("{user}:{sent}"));
    }
    let wrong = format!("postgres://{user}:%EE%80%80@{}/{name}", server.address());
    tries(&place, &wrong).ended_with(4).says(&["password authentication failed"]);
}

#[test]
fn a_postgres_that_dies_fails_what_it_did_not_answer() {
    let place = Place::weighing(Weight::DATABASE);
    let test = "a_postgres_that_dies_fails_what_it_did_not_answer";
    let Some(server) = Postgres::own(test) else { return };
    let shop = server.database(PASSWORD);
    let url = shop.url();
    place.plimsoll(&["prepare", &url]).ended_with(0);
    let text = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'plimsoll' AND \
                state = 'idle' AND query LIKE 'SELECT value%' AND state_change > backend_start + \
                interval '400 ms'";
    let has_begun = |server: &Postgres| server.sql("postgres", text) != "0";
    dies(&place, &url, server, has_begun, Signal::QUIT);
}

/// What the kernel has counted since it started.
fn vmstat(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap();
    let line = text.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_cold_load_begins_after_a_restart_with_an_empty_page_cache() {
    let test = "a_cold_load_begins_after_a_restart_with_an_empty_page_cache";
    if !may_drop_caches(test) {
        return;
    }
    let place = Place::weighing(Weight::DATABASE);
    let Some(server) = Postgres::own(test) else { return };
    let shop = server.database(PASSWORD);
    let url = shop.url();
    let data = ["--records", "2000", "--value-size", "4KiB"];
    writes_two_thousand(&place, &url, &data);

    let restart = server.restart().join(" ");
    let restart = format!("cd {} && {restart}", server.folder().display());
    let load = ["load", "--json", &url, "--workload", "read-only", "--rate", "50/s", "--for", "1s"];
    let load = [&load[..], &data].concat();

    let (pid, dropped) = (server.pid(), vmstat("drop_pagecache"));
    let warm = place.plimsoll(&load).ran().json();
    assert_eq!(warm["workload"]["caches"], "warm", "{warm}");
    assert_eq!(server.pid(), pid);
    let cold = [&load[..], &["--cold", "--restart-command", &restart]].concat();
    let cold = place.plimsoll(&cold).ran().json();
    assert_eq!((&cold["workload"]["caches"], &cold["status"]["200"]), (&"cold".into(), &50.into()));
    assert_ne!(server.pid(), pid, "another process serves now");
    assert!(vmstat("drop_pagecache") > dropped);

    // A restart that fails is told, and nothing is sent.
    let failing =
        [&load[..], &["--cold", "--restart-command", "echo no unit >&2; exit 3"]].concat();
    place.plimsoll(&failing).ended_with(4).says(&["ended with exit code 3: no unit"]);
}

#[test]
fn what_cannot_be_cold_is_said() {
    let place = Place::weighing(Weight::WAITS);
    let flags = ["--rate", "1/s", "--for", "1s", "--cold"];
    let tried = |url: &str| place.plimsoll(&[&["load", url], &flags[..]].concat()).ended_with(2);
    tried("redis://127.0.0.1:1").says(&["reads nothing from disk"]);
    tried("postgres://ann@127.0.0.1:1/shop").says(&["needs the command that restarts the store"]);
    tried("http://127.0.0.1:1/").says(&["goes with a store"]);
}
