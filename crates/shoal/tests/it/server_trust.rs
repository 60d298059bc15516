//! Who is trusted, and who only looks so: loopback, the operator's socket, keys that decide,
//! proxies.

use std::path::Path;

use plimsoll_shoal::address::may_be_public;
use plimsoll_shoal::agent::addresses::of_interfaces;
use plimsoll_shoal::auth::Keys;
use plimsoll_shoal::server::{Auth, Options, Server, StartError};
use serde_json::{Value, json};

use crate::support::live::{Ask, Live, options, reason, said, text, unix_s, with};

const KEYS: &str = "site-a 00112233445566778899aabbccddeeff\n";

/// Now, milliseconds since 1970.
fn unix_ms() -> i64 {
    (unix_s() * 1e3) as i64
}

fn listed(live: &Live) -> usize {
    live.shared().registry().len()
}

#[test]
fn rule_1_loopback_is_no_trust() {
    let external_ips = vec!["192.0.2.77".parse().unwrap()];
    let without = Options { trusted_proxies: Vec::new(), external_ips, ..options() };
    let live = Live::start(without);
    let announce = |said: &Value| live.message("POST", said.to_string().as_bytes(), &[]);
    let other = said("secret-1", "victim.example", "192.0.2.10");
    assert_eq!(reason(&announce(&other), 403), "address_mismatch");
    let beside = with(other.clone(), &json!({"external_ip": "192.0.2.77"}));
    assert_eq!(reason(&announce(&beside), 403), "address_mismatch");
    let behind = with(other, &json!({"public_ip": null, "private_ip": "10.255.255.1"}));
    // This host's own: by the option, and by its interfaces (its loopback one at least).
    assert_eq!(announce(&said("secret-2", "own.example", "192.0.2.77")).status, 204);
    let inside = json!({"public_ip": null, "private_ip": "127.0.0.1"});
    assert_eq!(announce(&with(said("secret-3", "in.example", "192.0.2.1"), &inside)).status, 204);
    for own in of_interfaces(Path::new("/")).into_iter().filter(|own| may_be_public(*own)) {
        let answer = announce(&with(
            said(&format!("own-{own}").replace([':', '.'], "-"), "of.example", &own.to_string()),
            &json!({"cache_port": 3000}),
        ));
        assert_eq!(answer.status, 204, "{own}");
    }
    // One that knows no public address has this host's.
    assert_eq!(announce(&behind).status, 204);
    assert_eq!(live.listed("victim.example")["public_ip"], "192.0.2.77");
    let nowhere = Live::start(Options { trusted_proxies: Vec::new(), ..options() });
    let answer = nowhere.message("POST", behind.to_string().as_bytes(), &[]);
    assert_eq!(reason(&answer, 400), "missing");
    // It decides about nothing.
    let id = live.listed("own.example")["id"].as_str().unwrap().to_owned();
    let target = format!("/v1/caches/{id}/state");
    let put = Ask { method: "PUT", target: &target, headers: &[], body: b"{\"state\":\"banned\"}" };
    assert_eq!(reason(&live.send(put), 403), "not_trusted");
    assert_eq!(live.order(put).status, 204);
    assert_eq!(live.listed("own.example")["state"], "banned");
}

#[test]
fn rule_1_an_operator_s_socket_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let live = Live::start(options());
    let path = live.door().0;
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    // A server that is there keeps it; one that is gone leaves no trace, or one that is cleared.
    let again = Options { operator_socket: Some(path.clone()), ..options() };
    assert!(matches!(Server::start(again), Err(StartError::Socket(..))));
    assert_eq!(live.announce(&said("secret-1", "one.example", "192.0.2.10")).status, 204);
    live.stop();
    assert!(!path.exists());
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join("left");
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    let start = |path: &Path| {
        Server::start(Options { operator_socket: Some(path.to_owned()), ..options() })
    };
    start(&left).unwrap().stop();
    let file = folder.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    assert!(matches!(start(&file), Err(StartError::Socket(..))));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn rule_1_a_key_decides_where_it_is_an_operator_s() {
    let text = format!(
        "{KEYS}root the-secret-of-the-root operator\n\
        local the-secret-of-a-site networks=198.51.100.0/24 operator\n"
    );
    let keys = Keys::read(&text).unwrap();
    let live = Live::start(Options { auth: Auth::Optional, keys: keys.clone(), ..options() });
    live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    live.announce(&said("secret-2", "two.example", "198.51.100.10"));
    let id = |host: &str| live.listed(host)["id"].as_str().unwrap().to_owned();
    let (one, two) = (id("one.example"), id("two.example"));
    let time = std::cell::Cell::new(unix_ms());
    let put = |key: &str, id: &str, body: &str, tampered: &str| {
        time.set(time.get() + 1);
        let signed = keys.get(key).unwrap().sign(body.as_bytes(), time.get()).headers();
        let mut headers: Vec<_> = signed.iter().map(|(name, value)| (*name, &**value)).collect();
        headers.push(("X-Forwarded-For", "203.0.113.9"));
        let target = format!("/v1/caches/{id}/state");
        live.send(Ask {
            method: "PUT",
            target: &target,
            headers: &headers,
            body: tampered.as_bytes(),
        })
    };
    let word = |id: &str, state: &str| json!({"id": id, "state": state}).to_string();
    let banned = word(&one, "banned");
    assert_eq!(reason(&put("site-a", &one, &banned, &banned), 403), "key_scope");
    assert_eq!(reason(&put("local", &one, &banned, &banned), 403), "key_scope");
    // A word without a name could be turned to another cache.
    let unnamed = "{\"state\":\"banned\"}";
    assert_eq!(reason(&put("root", &one, unnamed, unnamed), 400), "missing");
    assert_eq!(reason(&put("root", &two, &banned, &banned), 400), "range");
    assert_eq!(reason(&put("root", &one, &banned, &word(&one, "drained")), 401), "signature");
    assert_eq!(live.listed("one.example")["state"], "unverified");
    assert_eq!(put("root", &one, &banned, &banned).status, 204);
    assert_eq!(live.listed("one.example")["state"], "banned");
    let drained = word(&two, "drained");
    assert_eq!(put("local", &two, &drained, &drained).status, 204);
    // Said once: not again.
    time.set(time.get() - 1);
    assert_eq!(reason(&put("local", &two, &drained, &drained), 401), "signature");
    // Where signatures are not looked at, they mean nothing.
    let off = Live::start(Options { keys: keys.clone(), ..options() });
    let headers = [("x-shoal-key", "root"), ("X-Forwarded-For", "203.0.113.9")];
    let target = format!("/v1/caches/{one}/state");
    let ask = Ask { method: "PUT", target: &target, headers: &headers, body: banned.as_bytes() };
    assert_eq!(reason(&off.send(ask), 403), "not_trusted");
}

#[test]
fn rule_6_what_came_through_a_proxy_is_a_stranger_s_where_nobody_is_named() {
    let everybody = ["0.0.0.0/0", "::/0"].map(|net| net.parse().unwrap()).to_vec();
    let live = Live::start(Options { trust: everybody.clone(), ..options() });
    let other = said("secret-1", "one.example", "192.0.2.10").to_string();
    let announce =
        |live: &Live, headers: &[(&str, &str)]| live.message("POST", other.as_bytes(), headers);
    let refused = |live: &Live, headers: &[(&str, &str)]| {
        let answer = announce(live, headers);
        assert_eq!(reason(&answer, 403), "sender_unknown", "{headers:?}");
    };
    // A proxy of ours that names nobody, whatever is trusted: not its own address.
    let long = ["127.0.0.1"; 12].join(",");
    for value in ["203.0.113.9:x", "unknown", "", "203.0.113.9,", "127.0.0.1", "0.0.0.0", &long] {
        refused(&live, &[("X-Forwarded-For", value)]);
    }
    refused(&live, &[]);
    refused(&live, &[("X-Real-IP", "203.0.113.9")]);
    for value in ["for=unknown", "for=_hidden", "by=203.0.113.9", "for=\"203.0.113.9", "", "for"] {
        refused(&live, &[("Forwarded", value)]);
    }
    // One header of two is a client's own: they have to agree.
    let both = |one, two| [("X-Forwarded-For", one), ("Forwarded", two)];
    refused(&live, &both("203.0.113.9", "for=198.51.100.1"));
    refused(&live, &both("203.0.113.9", "for=unknown"));
    // One that is not ours, whatever it says.
    let direct =
        Live::start(Options { trusted_proxies: Vec::new(), trust: everybody, ..options() });
    let headers = [
        "Forwarded",
        "Via",
        "X-Real-IP",
        "X-Forwarded-For",
        "X-Forwarded-Proto",
        "x-forwarded-any",
    ];
    for name in headers {
        refused(&direct, &[(name, "127.0.0.1")]);
        let by_socket = [(name, "127.0.0.1")];
        let ask = Ask {
            method: "POST",
            target: "/v1/heartbeat",
            headers: &by_socket,
            body: other.as_bytes(),
        };
        assert_eq!(reason(&direct.order(ask), 403), "sender_unknown", "{name}");
    }
    assert_eq!((listed(&live), listed(&direct)), (0, 0));
    let strangers = |live: &Live, why: &str| -> u64 {
        let metrics = text(&live.get("/metrics"));
        let name = format!("shoal_strangers_total{{reason=\"{why}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
    };
    assert_eq!(strangers(&live, "malformed"), 7 + 6 + 2);
    assert!(strangers(&live, "silent") >= 2);
    assert_eq!(strangers(&direct, "not_ours"), headers.len() as u64);
    // With names that are believed, and without a proxy, it is whoever it is.
    assert_eq!(announce(&live, &both("203.0.113.9", "for=\"203.0.113.9:4711\"")).status, 204);
    assert_eq!(announce(&direct, &[]).status, 204);
}
