//! WebSockets over TLS, by the whole program: a real nginx ends it before the program's own server.

use crate::client_certificates::certificates;
use crate::nginx::nginx;
use crate::place::Place;
use crate::program::Going;
use crate::websocket_load::{ROOM, server};
use plimsoll_testing::installed;
use plimsoll_testing::servers::Nginx;

/// An nginx that has a certificate of the authority, and a server of WebSockets behind it.
fn encrypted(place: &Place, test: &str) -> Option<((Going, Nginx), String)> {
    installed(test, "openssl")?;
    certificates(place);
    let (behind, address) = server(place);
    let here = place.path("").display().to_string();
    let (front, port) = nginx(place, test, |port| {
        format!(
            "server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {here}/server.pem;\n\
             ssl_certificate_key {here}/server.key; location / {{\n\
             proxy_pass http://{address}; proxy_http_version 1.1; proxy_read_timeout 60;\n\
             proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }} }}"
        )
    })?;
    Some(((behind, front), format!("wss://127.0.0.1:{port}/")))
}

#[test]
fn users_speak_and_hear_over_tls() {
    let test = "users_speak_and_hear_over_tls";
    let place = Place::new();
    let Some((_servers, url)) = encrypted(&place, test) else { return };
    place.write("s.toml", ROOM);
    let load = ["--scenario", "s.toml", "--users", "4", "-n", "4", "--json"];
    let by = |more: &[&str]| place.load(&[&[url.as_str()], &load[..], more].concat());
    for trusts in [&["--ca", "ca.pem"][..], &["--insecure"]] {
        let document = by(trusts).ran().json();
        assert_eq!(document["succeeded"], 4 * 11, "a handshake and ten messages each: {document}");
        let broadcast = &document["websocket"]["broadcast"];
        assert_eq!(broadcast["received"], 4 * 4 * 10, "{broadcast}");
        assert_eq!((&broadcast["lost"], &broadcast["doubled"]), (&0.into(), &0.into()));
    }
    // Nobody vouches for it otherwise: no message is sent.
    let document = by(&[]).json();
    assert_eq!(document["errors"]["tls"], document["offered"], "{document}");
    assert_eq!(document["websocket"]["sent"], 0, "{document}");
}

#[test]
fn the_public_benchmarks_go_over_tls() {
    let test = "the_public_benchmarks_go_over_tls";
    let place = Place::new();
    let Some((_servers, url)) = encrypted(&place, test) else { return };
    let steps = ["--step", "20", "--samples", "20", "--max-clients", "40", "--limit", "20s"];
    for kind in ["echo", "broadcast"] {
        let more = [&["wsbench", kind, &url, "--ca", "ca.pem", "--json"], &steps[..]].concat();
        let of = place.plimsoll(&more).ended_with(0).json();
        assert_eq!((&of["clients"], &of["whole"]), (&40.into(), &true.into()), "{of:#}");
        assert_eq!(of["check"]["received"], of["check"]["expected"], "{of:#}");
    }
    let refused = place.plimsoll(&[&["wsbench", "echo", &url], &steps[..]].concat());
    assert_ne!(refused.code(), Some(0), "{}", refused.out);
}

#[test]
fn a_walk_goes_over_tls_by_the_flags_of_a_load() {
    let test = "a_walk_goes_over_tls_by_the_flags_of_a_load";
    let place = Place::new();
    let Some((_servers, url)) = encrypted(&place, test) else { return };
    place.write("s.toml", "[[step]]\nname = \"join\"\nconnect = \"/\"\n");
    let walk =
        |more: &[&str]| place.plimsoll(&[&["scenario", "try", "s.toml", &url], more].concat());
    walk(&[]).ended_with(4).prints(&["certificate"]);
    walk(&["--insecure"]).ended_with(0);
    walk(&["--ca", "ca.pem"]).ended_with(0);
    // A server's own certificate is trusted as it is.
    walk(&["--ca", "server.pem"]).ended_with(0);
    walk(&["--ca", "ca.pem", "--sni", "elsewhere.example"]).ended_with(4);
    walk(&["--ca", "/dev/zero"]).ended_with(2).says(&["more than 16 MiB"]);
}
