//! MariaDB: a load on it is what it counts itself, and what it refuses is a failure.

use super::{PASSWORD, counts, tries};
use crate::place::Place;
use crate::secrets::assert_nowhere;
use crate::stores::{assert_cut, dies, eight_hundred, prepares_by_variable, writes_two_thousand};
use plimsoll_testing::Weight;
use plimsoll_testing::servers::{MariaDb, Schema};
use rustix::process::Signal;

/// A database of the MariaDB that tests share.
fn shared(test: &str) -> Option<Schema> {
    MariaDb::shared(test).map(|server| server.schema(PASSWORD))
}

#[test]
fn mariadb_counts_the_same() {
    let place = Place::weighing(Weight::DATABASE);
    let Some(server) = MariaDb::own("mariadb_counts_the_same", &[]) else { return };
    let shop = server.schema(PASSWORD);
    let url = shop.url();
    let data = ["--records", "2000", "--value-size", "uniform:1B..2KiB"];
    writes_two_thousand(&place, &url, &data);
    assert_eq!(shop.sql("SELECT COUNT(*) FROM plimsoll"), "2000");
    // And the last record, asked for before the table is written, and a sample of it behind.
    assert_eq!(server.status("Com_stmt_execute"), 2101);
    // Once more: the same data set, nothing new.
    let before = shop.sql("CHECKSUM TABLE plimsoll");
    writes_two_thousand(&place, &url, &data);
    assert_eq!(shop.sql("CHECKSUM TABLE plimsoll"), before);

    let names = ["stmt_execute", "stmt_prepare", "select", "update", "insert"];
    let now = || names.map(|name| server.status(&format!("Com_{name}")));
    let (before, scanned) = (now(), server.status("Handler_read_rnd_next"));
    let mix = ["--set", "store.mix=read:80%,update:15%,insert:5%", "--connections", "8"];
    let summary = eight_hundred(&place, &url, &[&mix[..], &data].concat());
    assert_eq!(summary["status"]["200"], 800, "no record is missing: {summary}");
    let [reads, updates, inserts] = counts(&place);
    // And the last record, asked for before the load; three statements on each connection, and one
    // on that of the question.
    let wanted = [801, 3 * 8 + 1, reads + 1, updates, inserts];
    let counted = now();
    let counted: Vec<u64> = (0..names.len()).map(|n| counted[n] - before[n]).collect();
    assert_eq!(counted, wanted, "{summary}");
    // What SHOW reads is a table that is scanned; ours is read by its primary key.
    let scanned = server.status("Handler_read_rnd_next") - scanned;
    assert!(scanned < 800, "{scanned} rows were scanned");
    assert_eq!(shop.sql("SELECT COUNT(*) FROM plimsoll"), (2000 + inserts).to_string());
    assert!(summary["connections"]["opened"] == 8, "{summary}");
    let run = place.run();
    place.plimsoll(&["report", run.to_str().unwrap()]).ended_with(0);
    assert_nowhere(&place, &[PASSWORD]);
}

#[test]
fn a_record_of_mariadb_that_is_not_there_is_a_miss() {
    let place = Place::new();
    let test = "a_record_of_mariadb_that_is_not_there_is_a_miss";
    let Some(shop) = shared(test) else { return };
    let url = shop.url();
    place.plimsoll(&["prepare", &url]).ended_with(0);
    let count = || shop.sql("SELECT COUNT(*) FROM plimsoll");
    shop.sql("DELETE FROM plimsoll");
    let summary = eight_hundred(&place, &url, &["--workload", "balanced"]);
    assert_eq!(summary["status"]["204"], 800, "neither read nor updated: {summary}");
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("load the data set by `plimsoll prepare`"), "{warnings}");
    assert_eq!(count(), "0", "an update makes no record");
    // Several at once on a connection, through a socket; what is new is found.
    place.plimsoll(&["prepare", &url]).ended_with(0);
    let url = shop.url_by_socket();
    let latest = ["--workload", "read-latest", "--streams", "8", "--connections", "2"];
    let summary = eight_hundred(&place, &url, &latest);
    assert_eq!(summary["status"]["200"], 800, "{summary}");
    assert_eq!(summary["connections"]["opened"], 2, "{summary}");
    assert_eq!(count(), "1040", "40 were inserted");
    // A connection each: login and statements are no part of the service.
    let summary = eight_hundred(&place, &url, &["--connection", "per-request"]);
    assert_eq!(summary["connections"]["opened"], 800, "{summary}");
}

#[test]
fn an_error_of_mariadb_is_a_failure() {
    let place = Place::weighing(Weight::DATABASE);
    let test = "an_error_of_mariadb_is_a_failure";
    let Some(server) = MariaDb::own(test, &["--read-only"]) else { return };
    let shop = server.schema(PASSWORD);
    let url = shop.url();
    server.sql("SET GLOBAL read_only = 0");
    place.plimsoll(&["prepare", &url]).ended_with(0);
    server.sql("SET GLOBAL read_only = 1");
    let summary = eight_hundred(&place, &url, &["--workload", "balanced"]);
    let [reads, updates, _] = counts(&place);
    assert_eq!(summary["status"]["200"], reads, "{summary}");
    assert_eq!(summary["status"]["403"], updates, "{summary}");
    assert_eq!(summary["errors"]["status"], updates, "{summary}");
    // A user who may only read can put a load of reads on it, and no other.
    let reads = format!("GRANT SELECT ON {}.* TO eve", shop.name());
    server.sql(&format!("{reads}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'"));
    let url = url.replace(&format!("{}:", shop.user()), "eve:");
    let summary = eight_hundred(&place, &url, &["--workload", "read-only"]);
    assert_eq!(summary["status"]["200"], 800, "{summary}");
    let load = ["load", "--quiet", &url, "--workload", "balanced", "--rate", "9/s", "--for", "1s"];
    let done = place.plimsoll(&load).ended_with(4);
    done.says(&["UPDATE command denied to user 'eve'"]);
}

#[test]
fn who_is_not_let_in_by_mariadb_learns_why() {
    let place = Place::new();
    let test = "who_is_not_let_in_by_mariadb_learns_why";
    let Some(server) = MariaDb::shared(test) else { return };
    let shop = server.schema(PASSWORD);
    let (user, name) = (shop.user(), shop.name());
    let at = server.address();
    let load = |url: &str| tries(&place, url);
    let none = load(&shop.url()).ended_with(4);
    none.says(&[
        &format!("Table '{name}.plimsoll' doesn't exist"),
        "load the data set by `plimsoll prepare`",
    ]);
    let wrong = load(&format!("mysql://{user}:gu3ss@{at}/{name}")).ended_with(4);
    wrong.says(&[&format!("Access denied for user '{user}'"), "hint: check the password"]);
    let other = load(&format!("mysql://{user}:{PASSWORD}@{at}/elsewhere")).ended_with(4);
    let denied = format!("Access denied for user '{user}'@'127.0.0.1' to database 'elsewhere'");
    other.says(&[&denied]);
    let nobody = load(&format!("mysql://{at}/{name}")).ended_with(2);
    nobody.says(&["no user is named", "mysql://USER@"]);
    let nothing = load(&format!("mysql://{user}:{PASSWORD}@{at}")).ended_with(2);
    nothing.says(&["the name of a database as the path"]);
    let stranger = load(&format!("redis://{at}")).ended_with(4);
    stranger.says(&["it does not speak RESP2"]);
    prepares_by_variable(&place, &format!("mysql://{at}/{name}"), &format!("{user}:{PASSWORD}"));
}

#[test]
fn a_mariadb_that_dies_fails_what_it_did_not_answer() {
    let place = Place::weighing(Weight::DATABASE);
    let test = "a_mariadb_that_dies_fails_what_it_did_not_answer";
    let Some(server) = MariaDb::own(test, &[]) else { return };
    let shop = server.schema(PASSWORD);
    let url = shop.url();
    place.plimsoll(&["prepare", &url]).ended_with(0);
    let before = server.status("Com_stmt_execute");
    let has_begun = |server: &MariaDb| server.status("Com_stmt_execute") > before + 100;
    assert_cut(&dies(&place, &url, server, has_begun, Signal::KILL));
}

#[test]
fn mariadbs_settings_do_not_keep_a_data_set_from_being_written() {
    let test = "mariadbs_settings_do_not_keep_a_data_set_from_being_written";
    let place = Place::weighing(Weight::DATABASE);
    let odd = ["--autocommit=0", "--sql-mode="];
    let Some(server) = MariaDb::own(test, &odd) else { return };
    let shop = server.schema(PASSWORD);
    let url = shop.url();
    let prepare = ["prepare", &url, "--records", "500", "--json"];
    let filled = place.plimsoll(&prepare).ended_with(0).json();
    assert_eq!(filled["read_back"]["read"], 100, "{filled}");
    assert_eq!(shop.sql("SELECT COUNT(*) FROM plimsoll"), "500");
    // A load's updates are committed too: nobody waits for a lock.
    let balanced = ["--workload", "balanced", "--records", "500"];
    let summary = eight_hundred(&place, &url, &balanced);
    assert_eq!(summary["succeeded"], 800, "{summary}");
    // A value that its column cuts is an error of the store, in its words.
    shop.sql("ALTER TABLE plimsoll MODIFY value VARBINARY(50) NOT NULL DEFAULT ''");
    let filled = place.plimsoll(&prepare).ended_with(4).json();
    assert_eq!(filled["status"]["413"], 500, "{filled}");
    assert!(filled["reasons"][0]["text"].as_str().unwrap().contains("Data too long"), "{filled}");
}

#[test]
fn mariadbs_table_may_be_there_without_the_right_to_make_it() {
    let test = "mariadbs_table_may_be_there_without_the_right_to_make_it";
    let place = Place::new();
    let Some(server) = MariaDb::shared(test) else { return };
    let small = server.schema(PASSWORD);
    let (name, user) = (small.name(), small.user());
    small.sql(&format!(
        "REVOKE ALL ON {name}.* FROM {user}@'127.0.0.1'; \
         GRANT SELECT, INSERT, UPDATE ON {name}.* TO {user}@'127.0.0.1'"
    ));
    let url = small.url();
    let denied = place.plimsoll(&["prepare", &url, "--records", "20"]).ended_with(4);
    denied.says(&["CREATE command denied", "hint: give the user the privileges"]);
    small.sql("CREATE TABLE plimsoll (id VARCHAR(64) PRIMARY KEY, value LONGBLOB NOT NULL)");
    place.plimsoll(&["prepare", &url, "--records", "20"]).ended_with(0);
    // Whatever padded the value on its way back, it is not the one that was written.
    small.sql("ALTER TABLE plimsoll MODIFY value BINARY(200) NOT NULL DEFAULT ''");
    let padded = place.plimsoll(&["prepare", &url, "--records", "20"]).ended_with(4);
    assert!(padded.out.contains("has come back with 200 bytes of 100"), "{}", padded.out);
}

#[test]
fn mariadb_with_few_connections_is_told_in_its_words() {
    let test = "mariadb_with_few_connections_is_told_in_its_words";
    let place = Place::weighing(Weight::DATABASE);
    let Some(server) = MariaDb::own(test, &["--max-connections=12"]) else { return };
    let shop = server.schema(PASSWORD);
    let url = shop.url();
    place.plimsoll(&["prepare", &url, "--records", "500"]).ended_with(0);
    let summary = eight_hundred(&place, &url, &["--records", "500"]);
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("Too many connections"), "{warnings}");
    assert!(summary["connections"]["failed"].as_u64().unwrap() >= 51, "{summary}");
}
