//! Loads that go through a real Squid.

use crate::nginx::{asked, nginx};
use crate::place::Place;
use crate::program::wait_for;
use plimsoll_testing::installed;
use plimsoll_testing::servers::Squid;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What asks Squid's authenticator whether a user may pass.
const AUTHENTICATOR: &str = "#!/bin/sh\nwhile read -r line; do\n\
    if [ \"$line\" = 'ann s3cret-word' ]; then echo OK; else echo ERR; fi\ndone\n";

/// A Squid that lets in whoever has a password, and passes on to this host alone. What it has
/// passed on is in `NAME.log` of the place.
fn squid(place: &Place, test: &str, name: &str) -> Option<Squid> {
    // Squid lets go of root's rights, and must still write here.
    std::fs::set_permissions(place.path(""), Permissions::from_mode(0o777)).unwrap();
    let log = place.path(&format!("{name}.log"));
    Squid::own(test, |folder| {
        let authenticator = folder.join("authenticator.sh");
        std::fs::write(&authenticator, AUTHENTICATOR).unwrap();
        std::fs::set_permissions(&authenticator, Permissions::from_mode(0o755)).unwrap();
        format!(
            "access_log stdio:{}\ncache_mem 8 MB\ncache deny all\nvisible_hostname \
             proxy.example\nauth_param basic program {}\nauth_param basic children 2\n\
             acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all\n",
            log.display(),
            authenticator.display()
        )
    })
}

/// Waits until so many more requests have gone through a Squid by a method: it logs them when they
/// are over, a tunnel when it is closed.
fn wait_for_passed(place: &Place, name: &str, method: &str, count: usize) {
    wait_for("Squid to log what went through", || {
        (passed(place, name, method) >= count).then_some(())
    });
}

/// How many requests have gone through a Squid by a method, as its log has it.
fn passed(place: &Place, name: &str, method: &str) -> usize {
    let log = std::fs::read_to_string(place.path(&format!("{name}.log"))).unwrap_or_default();
    log.lines().filter(|line| line.split_whitespace().nth(5) == Some(method)).count()
}

fn certificate(place: &Place) {
    let make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out \
                cert.pem -days 30 -subj /CN=here -addext subjectAltName=IP:127.0.0.1";
    let make: Vec<&str> = make.split(' ').collect();
    assert!(place.command("openssl", &make).output().unwrap().status.success());
}

fn twenty(place: &Place, url: &str, arguments: &[&str]) -> Value {
    let load = ["load", url, "--rate", "20/s", "--for", "1s", "--json", "--quiet"];
    place.plimsoll(&[&load[..], arguments].concat()).json()
}

#[test]
fn plain_urls_are_asked_of_a_proxy_and_encrypted_ones_through_it() {
    let test = "plain_urls_are_asked_of_a_proxy_and_encrypted_ones_through_it";
    if installed(test, "openssl").is_none() {
        return;
    }
    let place = Place::new();
    certificate(&place);
    let here = place.path("").display().to_string();
    let Some((_plain, plain)) = nginx(&place, test, |port| {
        format!(
            "server {{ listen 127.0.0.1:{port}; location / {{ return 200 $host; }}\n\
                 location /old {{ return 302 /new; }} }}"
        )
    }) else {
        return;
    };
    let other = place.another();
    let Some((_secure, secure)) = nginx(&other, test, |port| {
        format!(
            "server {{ listen 127.0.0.1:{port} ssl http2; ssl_certificate {here}/cert.pem;\n\
             ssl_certificate_key {here}/key.pem; location / {{ return 200; }} }}"
        )
    }) else {
        return;
    };
    let Some(squid) = squid(&place, test, "squid") else { return };
    let port = squid.port();
    let through = format!("http://ann:s3cret-word@127.0.0.1:{port}");
    let by = ["--through", &through];

    let of = twenty(&place, &format!("http://127.0.0.1:{plain}/x"), &by);
    assert_eq!((&of["succeeded"], asked(&place, "/x")), (&Value::from(20), 20), "{of}");
    wait_for_passed(&place, "squid", "GET", 20);
    assert_eq!(passed(&place, "squid", "GET"), 20);
    let follow = [&by[..], &["--follow", "1"]].concat();
    let of = twenty(&place, &format!("http://127.0.0.1:{plain}/old"), &follow);
    assert_eq!((&of["succeeded"], &of["redirects"]), (&Value::from(20), &Value::from(20)), "{of}");

    for version in ["1.1", "2", "auto"] {
        let before = passed(&place, "squid", "CONNECT");
        let more = ["--ca", "cert.pem", "--http", version, "--connections", "2"];
        let url = format!("https://127.0.0.1:{secure}/{version}");
        let of = twenty(&place, &url, &[&by[..], &more].concat());
        assert_eq!(of["succeeded"], 20, "{version}: {of}");
        assert_eq!(asked(&other, &format!("/{version}")), 20, "{version}");
        wait_for_passed(&place, "squid", "CONNECT", before + 2);
        let tunnels = passed(&place, "squid", "CONNECT") - before;
        assert!((2..=3).contains(&tunnels), "{version}: {tunnels} tunnels");
    }

    // Who has no password is told so: an answer of a plain proxy, no tunnel of another.
    let wrong = format!("http://ann:wrong-word@127.0.0.1:{port}");
    let of = twenty(&place, &format!("http://127.0.0.1:{plain}/y"), &["--through", &wrong]);
    assert_eq!((&of["status"]["407"], asked(&place, "/y")), (&Value::from(20), 0), "{of}");
    let url = format!("https://127.0.0.1:{secure}/");
    let load = ["load", &url, "--rate", "5/s", "--for", "1s", "-k", "--through", &wrong];
    let done = place.plimsoll(&load).ended_with(4);
    done.says(&["the proxy answers 407"]);
    assert!(!done.err.contains("wrong-word"), "{}", done.err);
}

#[test]
fn a_proxys_password_is_neither_printed_nor_stored() {
    let test = "a_proxys_password_is_neither_printed_nor_stored";
    let place = Place::new();
    let Some(squid) = squid(&place, test, "squid") else { return };
    let port = squid.port();
    let target = place.calm();
    let (url, through) = (target.url(), format!("http://127.0.0.1:{port}"));
    let load = ["load", &url, "--rate", "20/s", "--for", "1s", "--quiet", "--through"];
    let mut command = place.command(crate::program::PLIMSOLL, &load);
    command.args([&through, "--through-env", "PROXY_LOGIN", "--json"]);
    command.env("PROXY_LOGIN", "ann:s3cret-word");
    let of = place.start(command).wait().ran().json();
    assert_eq!(of["succeeded"], 20, "{of}");

    let secret = format!("http://ann:s3cret-word@127.0.0.1:{port}");
    let by = [&load[..], &[&secret]].concat();
    let done = place.plimsoll(&by).ran();
    let printed = place.plimsoll(&[&by[..], &["--print-plan"]].concat()).ended_with(0);
    printed.prints(&["…redacted…@127.0.0.1"]);
    let wrong = place.plimsoll(&[&by[..], &["--addresses", "spread"]].concat()).ended_with(2);
    let bare = format!("ann:s3cret-word@127.0.0.1:{port}/path");
    let bare = place.plimsoll(&[&load[..], &[&bare]].concat()).ended_with(2);
    for done in [done, printed.ended_with(0), wrong, bare] {
        assert!(!(done.out + &done.err).contains("s3cret"), "it is printed");
    }
    let kept =
        |folder: &Path| is_kept(folder, b"s3cret") || is_kept(folder, b"YW5uOnMzY3JldC13b3Jk");
    assert!(!kept(&place.path("runs")), "it is stored");
    // What was printed cannot be executed without it.
    let plan = place.plimsoll(&[&by[..], &["--print-plan"]].concat()).out;
    place.write("plan.toml", plan);
    place.plimsoll(&["load", "plan.toml"]).ended_with(2).says(&["target.through"]);
}

/// Whether any file of a folder, or below it, holds these bytes.
fn is_kept(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().flatten().any(|entry| match entry.path() {
        path if path.is_dir() => is_kept(&path, bytes),
        path => std::fs::read(path).unwrap().windows(bytes.len()).any(|part| part == bytes),
    })
}
