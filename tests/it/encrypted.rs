//! TLS: whose certificate is trusted, and whether sessions are resumed. Servers are `openssl`'s.

use crate::place::{Place, test_name};
use crate::program::{Going, wait_for};
use plimsoll_testing::{free_port, installed};
use serde_json::Value;

/// A server whose certificate is the usual self-signed one of a single line.
struct Encrypted {
    url: String,
    _server: Going,
}

/// `None` where there is no `openssl` to serve with.
fn encrypted(place: &Place) -> Option<Encrypted> {
    installed(&test_name(), "openssl")?;
    let make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out \
                cert.pem -days 30 -subj /CN=harbour.example -addext \
                subjectAltName=DNS:harbour.example,IP:127.0.0.1";
    let make: Vec<&str> = make.split(' ').collect();
    let made = place.command("openssl", &make).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let port = free_port();
    let accept = port.to_string();
    let serve = ["s_server", "-accept", &accept, "-cert", "cert.pem", "-key", "key.pem", "-www"];
    let server = place.start(place.command("openssl", &serve));
    wait_for("the server to listen", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok().then_some(())
    });
    Some(Encrypted { url: format!("https://127.0.0.1:{port}/"), _server: server })
}

/// Twenty requests on connections of their own, one after the other.
fn twenty(place: &Place, url: &str, arguments: &[&str]) -> Value {
    let load = ["load", url, "--rate", "20/s", "--for", "1s", "--json"];
    let all = [&load[..], &["--connection", "per-request", "--ca", "cert.pem"], arguments].concat();
    let summary = place.plimsoll(&all).ran().json();
    assert_eq!(summary["succeeded"], 20, "{summary}");
    summary
}

#[test]
fn a_self_signed_certificate_is_trusted_by_name() {
    let place = Place::new();
    let Some(server) = encrypted(&place) else { return };
    let load = ["--rate", "5/s", "--for", "1s", "--connections", "1", "--json"];
    let by = |more: &[&str]| place.plimsoll(&[&["load", &server.url], &load[..], more].concat());
    let summary = by(&["--ca", "cert.pem"]).ran().json();
    assert_eq!(summary["succeeded"], 5, "{summary}");
    let other = by(&["--ca", "cert.pem", "--sni", "elsewhere.example"]).ended_with(4);
    other.says(&["elsewhere.example"]);
    // Nobody has signed it.
    by(&[]).ended_with(4);
}

#[test]
fn a_new_visitor_has_no_session_to_resume() {
    let place = Place::new();
    let Some(server) = encrypted(&place) else { return };
    let tls =
        |arguments: &[&str]| twenty(&place, &server.url, arguments)["connections"]["tls"].clone();
    assert_eq!(tls(&[]), serde_json::json!({ "full": 20, "resumed": 0 }));
    let resumed = tls(&["--tls-resumption", "on"]);
    assert!(resumed["resumed"].as_u64().unwrap() >= 18, "{resumed}");
    assert_eq!(resumed["full"].as_u64().unwrap() + resumed["resumed"].as_u64().unwrap(), 20);
}
