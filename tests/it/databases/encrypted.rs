//! TLS within the protocols of MariaDB and PostgreSQL: who has to come by it is let in by it only,
//! and a server that speaks none is told of.

use super::{PASSWORD, tries};
use crate::client_certificates::certificates;
use crate::place::Place;
use crate::program::{Done, wait_for};
use crate::secrets::assert_nowhere;
use crate::stores::encrypted::handshakes;
use crate::stores::{eight_hundred, writes_two_thousand};
use plimsoll_testing::servers::{MariaDb, Postgres};
use plimsoll_testing::{Weight, installed};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

/// A short load over TLS, whose URL or certificate is expected to be wrong, or not.
fn tries_with(place: &Place, url: &str, more: &[&str]) -> Done {
    let load = ["load", "--quiet", url, "--rate", "10/s", "--for", "1s", "--workload", "read-only"];
    let done = place.plimsoll(&[&load[..], more].concat());
    assert!(!done.err.contains(PASSWORD), "{}", done.err);
    done
}

const DATA: [&str; 6] =
    ["--records", "2000", "--value-size", "uniform:1B..40KiB", "--ca", "ca.pem"];
const SHOWN: [&str; 6] = ["--ca", "ca.pem", "--cert", "client.pem", "--key", "client.key"];

#[test]
fn mariadb_lets_in_by_tls() {
    let test = "mariadb_lets_in_by_tls";
    if installed(test, "openssl").is_none() {
        return;
    }
    let place = Place::weighing(Weight::DATABASE);
    certificates(&place);
    let file = |option: &str, name: &str| format!("--{option}={}", place.path(name).display());
    let files =
        [file("ssl-cert", "server.pem"), file("ssl-key", "server.key"), file("ssl-ca", "ca.pem")];
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let Some(server) = MariaDb::own(test, &files) else { return };
    let shop = server.schema(PASSWORD);
    let user = shop.user();
    let require = |what: &str| server.sql(&format!("ALTER USER {user}@'127.0.0.1' REQUIRE {what}"));
    require("SSL");
    let plain = shop.url();
    let secure = plain.replace("mysql:", "mysqls:");
    writes_two_thousand(&place, &secure, &DATA);
    assert_eq!(shop.sql("SELECT COUNT(*) FROM plimsoll"), "2000");
    let accepts = || server.status("Ssl_finished_accepts");
    // The client that asks for this may speak TLS too.
    let (before, accepted) = (accepts(), accepts());
    let own = accepted - before;
    let workload = [&["--workload", "balanced", "--connections", "8"], &DATA[..]].concat();
    let summary = eight_hundred(&place, &secure, &workload);
    assert_eq!(summary["status"]["200"], 800, "no record is missing: {summary}");
    let (full, resumed) = handshakes(&summary);
    assert_eq!(full + resumed, 8);
    // And that of the question before the load.
    assert_eq!(accepts() - accepted, 9 + own);
    // The same, as those have it who rent out databases.
    let asked = format!("{plain}?ssl-mode=REQUIRED");
    tries_with(&place, &asked, &["--ca", "ca.pem"]).ran();

    tries_with(&place, &secure, &[]).ended_with(4).says(&["UnknownIssuer", "--ca FILE"]);
    tries_with(&place, &secure, &["--insecure"]).ran();
    let denied = tries(&place, &plain).ended_with(4);
    let refused = format!("Access denied for user '{user}'");
    denied.says(&[&refused, "mysqls://"]);
    require("NONE");
    server.sql("SET GLOBAL require_secure_transport = 1");
    tries(&place, &plain).ended_with(4).says(&["mysqls://"]);
    require("X509");
    let nameless = tries_with(&place, &secure, &["--ca", "ca.pem"]).ended_with(4);
    nameless.says(&[&refused, "--cert"]);
    tries_with(&place, &secure, &SHOWN).ran();
    assert_nowhere(&place, &[PASSWORD]);
}

#[test]
fn a_mariadb_without_tls_is_told_of() {
    let test = "a_mariadb_without_tls_is_told_of";
    let place = Place::weighing(Weight::DATABASE);
    let Some(server) = MariaDb::own(test, &["--skip-ssl"]) else { return };
    let shop = server.schema(PASSWORD);
    let url = shop.url().replace("mysql:", "mysqls:");
    let done = tries_with(&place, &url, &["--insecure"]).ended_with(4);
    done.says(&["it speaks no TLS", "write mysql://"]);
}

/// Writes a file that the server's own user may read, and nobody else.
fn give(server: &Postgres, name: &str, text: impl AsRef<[u8]>) {
    let data = server.folder().join("data");
    let (owner, file) = (std::fs::metadata(&data).unwrap(), data.join(name));
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
}

/// Has a PostgreSQL let a user in by TLS only, by this method.
fn lets_in_by_tls(place: &Place, server: &Postgres, user: &str, method: &str) {
    let names =
        [("server.pem", "server.crt"), ("server.key", "server.key"), ("ca.pem", "root.crt")];
    for (from, to) in names {
        give(server, to, std::fs::read(place.path(from)).unwrap());
    }
    let rules = format!("local all all trust\nhostssl all {user} 127.0.0.1/32 {method}\n");
    give(server, "pg_hba.conf", rules);
    server.sql("postgres", "ALTER SYSTEM SET ssl = on");
    server.sql("postgres", "ALTER SYSTEM SET ssl_ca_file = 'root.crt'");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let rule = "SELECT count(*) FROM pg_settings, pg_hba_file_rules WHERE name = 'ssl' \
                AND setting = 'on' AND type = 'hostssl'";
    wait_for("the settings to be in force", || (server.sql("postgres", rule) == "1").then_some(()));
}

#[test]
fn postgresql_lets_in_by_tls() {
    let test = "postgresql_lets_in_by_tls";
    if installed(test, "openssl").is_none() {
        return;
    }
    let place = Place::weighing(Weight::DATABASE);
    certificates(&place);
    let Some(server) = Postgres::own(test) else { return };
    let shop = server.database(PASSWORD);
    let plain = shop.url();
    let secure = plain.replace("postgres:", "postgresqls:");
    // As it is without a certificate of its own.
    tries_with(&place, &secure, &[]).ended_with(4).says(&["speaks no TLS", "write postgres://"]);

    lets_in_by_tls(&place, &server, shop.user(), "scram-sha-256");
    writes_two_thousand(&place, &secure, &DATA);
    assert_eq!(shop.sql("SELECT COUNT(*) FROM plimsoll"), "2000");
    let workload = [&["--workload", "balanced", "--connections", "8"], &DATA[..]].concat();
    let summary = eight_hundred(&place, &secure, &workload);
    assert_eq!(summary["status"]["200"], 800, "no record is missing: {summary}");
    let (full, resumed) = handshakes(&summary);
    assert_eq!(full + resumed, 8);
    // The same, as those have it who rent out databases.
    let asked = format!("{plain}?sslmode=require");
    tries_with(&place, &asked, &["--ca", "ca.pem"]).ran();

    tries_with(&place, &secure, &[]).ended_with(4).says(&["UnknownIssuer", "--ca FILE"]);
    let other = ["--ca", "ca.pem", "--sni", "elsewhere.example"];
    tries_with(&place, &secure, &other).ended_with(4).says(&["elsewhere.example", "--sni"]);
    tries_with(&place, &secure, &["--insecure"]).ran();
    tries(&place, &plain).ended_with(4).says(&["no encryption", "write postgresqls://"]);

    // The password itself goes over TLS, and who has to show a certificate does.
    lets_in_by_tls(&place, &server, shop.user(), "password clientcert=verify-ca");
    let method = "SELECT count(*) FROM pg_hba_file_rules WHERE auth_method = 'password'";
    assert_eq!(server.sql("postgres", method), "1");
    wait_for("the new rule to be in force", || {
        let nameless = tries_with(&place, &secure, &["--ca", "ca.pem"]);
        nameless.err.contains("--cert").then_some(())
    });
    tries_with(&place, &secure, &SHOWN).ran();
    assert_nowhere(&place, &[PASSWORD]);
}
