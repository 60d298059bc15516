//! A certificate of ours, shown to a real nginx that wants one.

use crate::nginx::nginx;
use crate::place::Place;
use plimsoll_testing::servers::Nginx;
use plimsoll_testing::{Weight, installed};
use std::path::Path;

/// Makes an authority, a server's certificate for 127.0.0.1 and two clients', all signed by it.
pub(crate) fn certificates(place: &Place) {
    let run = |arguments: &str| {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let made = place.command("openssl", &arguments).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    run(&format!(
        "req -x509 {key} -keyout ca.key -out ca.pem -days 30 -subj /CN=harbour-authority"
    ));
    place.write("server.ext", "subjectAltName=IP:127.0.0.1\n");
    place.write("client.ext", "extendedKeyUsage=clientAuth\n");
    for (name, ext) in [("server", "server"), ("client", "client"), ("other", "client")] {
        run(&format!("req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"));
        run(&format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 \
             -extfile {ext}.ext -out {name}.pem"
        ));
    }
    run("pkey -in client.key -aes256 -passout pass:locked -out locked.key");
}

/// An nginx that answers whoever shows a certificate of the authority.
fn server(place: &Place, test: &str) -> Option<(Nginx, u16)> {
    let here = place.path("").display().to_string();
    nginx(place, test, |port| {
        format!(
            "server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {here}/server.pem;\n\
             ssl_certificate_key {here}/server.key; ssl_client_certificate {here}/ca.pem;\n\
             ssl_verify_client on; location / {{ return 200 $ssl_client_s_dn; }} }}"
        )
    })
}

/// Whether any file of a folder, or below it, holds these bytes.
fn is_kept(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().flatten().any(|entry| match entry.path() {
        path if path.is_dir() => is_kept(&path, bytes),
        path => std::fs::read(path).unwrap().windows(bytes.len()).any(|part| part == bytes),
    })
}

#[test]
fn nginx_lets_in_whoever_shows_a_certificate() {
    let test = "nginx_lets_in_whoever_shows_a_certificate";
    if installed(test, "openssl").is_none() {
        return;
    }
    let place = Place::new();
    certificates(&place);
    let Some((_nginx, port)) = server(&place, test) else { return };
    let url = format!("https://127.0.0.1:{port}/");
    let load = ["--rate", "20/s", "--for", "1s", "--ca", "ca.pem", "--json"];
    let by = |more: &[&str]| place.plimsoll(&[&["load", &url], &load[..], more].concat());
    let shown = ["--cert", "client.pem", "--key", "client.key"];
    let summary = by(&shown).ran().json();
    assert_eq!(summary["succeeded"], 20, "{summary}");
    let summary = by(&[&shown[..], &["--http", "auto"]].concat()).ran().json();
    assert_eq!(summary["succeeded"], 20, "{summary}");
    // Without one nginx answers that it wants one.
    let summary = by(&[]).json();
    assert_eq!(summary["status"]["400"], 20, "{summary}");

    let text = format!(
        "name = \"shown\"\n[target]\nurl = \"{url}\"\nca = \"ca.pem\"\ncert = \"client.pem\"\n\
         key = \"client.key\"\n[load]\nrate = \"20/s\"\nfor = \"1s\"\n[factor]\n\
         \"load.rate\" = [\"10/s\", \"20/s\"]\n"
    );
    place.write("plan.toml", text);
    place.plimsoll(&["run", "plan.toml", "--quiet"]).ran();
    let key = std::fs::read_to_string(place.path("client.key")).unwrap();
    let line = key.lines().nth(1).unwrap();
    assert!(!is_kept(&place.path("runs"), line.as_bytes()), "a key is kept");
}

#[test]
fn what_is_wrong_with_a_pair_is_told_before_any_load() {
    let test = "what_is_wrong_with_a_pair_is_told_before_any_load";
    if installed(test, "openssl").is_none() {
        return;
    }
    let place = Place::weighing(Weight::WAITS);
    certificates(&place);
    // Nobody listens there: whatever is told, it is told without asking.
    let load = ["load", "https://127.0.0.1:1/", "--rate", "5/s", "--for", "1s", "--ca", "ca.pem"];
    let by = |pair: &[&str]| place.plimsoll(&[&load[..], pair].concat()).ended_with(2);
    by(&["--cert", "client.pem"]).says(&["expected `key` beside `cert`", "--key client.key"]);
    by(&["--key", "client.key"]).says(&["expected `cert` beside `key`", "--cert client.pem"]);
    by(&["--cert", "gone.pem", "--key", "client.key"]).says(&["gone.pem", "No such file"]);
    by(&["--cert", "client.pem", "--key", "gone.key"]).says(&["gone.key", "No such file"]);
    let pair = ["--cert", "client.pem", "--key", "other.key"];
    by(&pair).says(&["use the certificate client.pem with the key other.key", "KeyMismatch"]);
    by(&["--cert", "client.key", "--key", "client.pem"]).says(&["the other way round"]);
    by(&["--cert", "client.pem", "--key", "locked.key"]).says(&["locked.key is encrypted"]);
    let at_redis = ["load", "redis://127.0.0.1:1/", "--rate", "5/s", "--for", "1s"];
    let refused = place.plimsoll(&[&at_redis[..], &["--cert", "a", "--key", "b"]].concat());
    refused.ended_with(2).says(&["`cert` goes with TLS, not with redis://", "write rediss://"]);
}
