//! The server as a whole, over real sockets: from an announcement to every answer that tells of it.

use std::io::{Read as _, Write as _};
use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use plimsoll_net::http::client::{Limits, Peer, Plain, Request, exchange};
use plimsoll_shoal::auth::Keys;
use plimsoll_shoal::order::Sites;
use plimsoll_shoal::registry::Settings;
use plimsoll_shoal::server::{Auth, Options, Order};
use plimsoll_testing::free_address;
use serde_json::{Value, json};

use crate::serve::{Server, ok};
use crate::support::live::{
    Ask, Live, PATIENCE, options, places, reason, said, text, trusting, unix_s, until, with,
};

// Of MaxMind's database for tests: London, Linköping and Milton, Washington.
const LONDON: &str = "81.2.69.160";
const LINKOPING: &str = "89.160.20.112";
const MILTON: &str = "216.160.83.56";
/// Boxford, 84 km from London.
const BOXFORD: &str = "2.125.160.216";

fn located(test: &str) -> Option<Live> {
    Some(Live::start(Options { geography: places(test)?, ..options() }))
}

fn three(live: &Live) {
    for (uuid, host, address) in [
        ("us", "us.example", MILTON),
        ("se", "se.example", LINKOPING),
        ("uk", "uk.example", LONDON),
    ] {
        assert_eq!(live.announce(&said(uuid, host, address)).status, 204);
    }
    live.lists(3);
}

#[test]
fn a_cache_is_listed_until_it_says_goodbye() {
    let live = Live::start(trusting());
    assert_eq!(text(&live.get("/nearest")), "null");
    let beat = said("secret-1", "one.example", "192.0.2.10");
    assert_eq!(live.announce(&beat).status, 204);
    let listed = live.listed("one.example");
    assert_eq!(listed["public_ip"], "192.0.2.10");
    assert_eq!(listed["state"], "unverified");
    let id = listed["id"].as_str().unwrap();
    for path in ["/nearest", "/nearestverified/3", "/nearestcvmfs", "/nearestconditions", "/all"] {
        assert_eq!(live.json(path)["0"]["hostname"], "one.example", "{path}");
    }
    assert_eq!(live.json(&format!("/v1/caches/{id}"))["host"], "one.example");

    // A goodbye of before the last heartbeat is an old one.
    let bye = |timestamp: &Value| {
        let said = json!({"uuid": "secret-1", "timestamp": timestamp, "goodbye": true});
        live.message("DELETE", said.to_string().as_bytes(), &[])
    };
    assert_eq!(reason(&bye(&json!(1.0)), 400), "stale");
    let answer = bye(&json!(unix_s()));
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    // At once, everywhere.
    assert_eq!(text(&live.get("/nearest")), "null");
    assert_eq!(text(&live.get("/all")), "null");
    assert_eq!(reason(&live.get(&format!("/v1/caches/{id}")), 404), "not_found");
    assert_eq!(live.json("/v1/caches")["caches"], json!([]));
    assert_eq!(reason(&bye(&json!(unix_s())), 404), "unknown");
    // A heartbeat that was sent before the goodbye does not bring it back.
    assert_eq!(reason(&live.announce(&beat), 400), "stale");
    live.stop();
}

#[test]
fn a_cache_that_falls_silent_expires() {
    let settings = Settings { ttl_ns: 400_000_000, ..Settings::default() };
    let live = Live::start(Options { settings, ..options() });
    live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    live.listed("one.example");
    live.lists(0);
    assert!(text(&live.get("/metrics")).contains("\nshoal_caches_expired_total 1\n"));
}

#[test]
fn the_nearest_comes_first() {
    let Some(live) = located("the_nearest_comes_first") else { return };
    three(&live);
    for _ in 0..20 {
        assert_eq!(live.nearest(BOXFORD, ""), ["uk.example", "se.example", "us.example"]);
    }
    assert_eq!(live.nearest("216.160.83.60", "?n=1"), ["us.example"]);
    // `ip` chooses the place; the client's own address is what is local.
    let query = format!("/v1/nearest?ip={BOXFORD}");
    let body: Value = serde_json::from_slice(&live.get_from(LINKOPING, &query).body).unwrap();
    assert_eq!(body["client"], json!({"ip": BOXFORD, "located": true, "country": "GB"}));
    let shown: Vec<_> = body["caches"].as_array().unwrap().iter().collect();
    assert_eq!((&shown[0]["host"], &shown[0]["local"]), (&json!("se.example"), &json!(true)));
    assert_eq!((&shown[1]["host"], &shown[1]["local"]), (&json!("uk.example"), &json!(false)));
    let km = shown[1]["distance_km"].as_f64().unwrap();
    assert!((80.0..90.0).contains(&km), "{km}");
    // On the old paths too, through `X-Forwarded-For`.
    let old: Value = serde_json::from_slice(&live.get_from(BOXFORD, "/nearest/2").body).unwrap();
    assert_eq!(old["0"]["hostname"], "uk.example");
    assert_eq!(old["1"]["hostname"], "se.example");
    assert_eq!(old.get("2"), None);
    assert_eq!(old["0"]["geo_data"]["city"], "London");
}

#[test]
fn the_original_s_order_serves_who_is_located_and_verified() {
    let name = "the_original_s_order_serves_who_is_located_and_verified";
    let Some(geography) = places(name) else { return };
    let live = Live::start(Options { geography, order: Order::Shoal, ..options() });
    three(&live);
    assert_eq!(text(&live.get_from(BOXFORD, "/nearest")), "null");
    // What a trusted source says of itself is believed.
    let beat = with(said("se", "se.example", LINKOPING), &json!({"verified": true}));
    assert_eq!(live.announce(&beat).status, 204);
    let old: Value = serde_json::from_slice(&live.get_from(BOXFORD, "/nearest").body).unwrap();
    assert_eq!(old["0"]["hostname"], "se.example");
    assert_eq!(text(&live.get_from("203.0.113.1", "/nearest")), "null");
}

#[test]
fn a_place_may_be_what_the_agent_was_told() {
    let live = Live::start(options());
    let beat = said("secret-1", "one.example", "192.0.2.10");
    live.announce(&with(beat, &json!({"latitude": 46.2, "longitude": 6.1})));
    live.listed("one.example");
    let old = live.json("/nearest");
    assert_eq!(old["0"]["geo_data"]["latitude"], 46.2);
    // Without a database no client is located: the least loaded are given.
    let busy = with(said("secret-2", "busy.example", "192.0.2.11"), &json!({"load": 100_000}));
    live.announce(&busy);
    live.listed("busy.example");
    for _ in 0..20 {
        assert_eq!(live.nearest("203.0.113.1", ""), ["one.example", "busy.example"]);
    }
    let filtered = live.nearest("203.0.113.1", "?type=varnish");
    assert!(filtered.is_empty(), "{filtered:?}");
}

#[test]
fn a_tag_saves_the_body_until_something_changes() {
    let live = Live::start(options());
    live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    let listed = live.listed("one.example");
    for target in
        ["/v1/caches".to_owned(), format!("/v1/caches/{}", listed["id"].as_str().unwrap())]
    {
        let first = live.get(&target);
        let tag = first.header("etag").unwrap().to_owned();
        let with_tag = |tag: &str| {
            let headers = [("If-None-Match", tag)];
            live.send(Ask { method: "GET", target: &target, headers: &headers, body: &[] })
        };
        let second = with_tag(&tag);
        assert_eq!((second.status, second.body.len()), (304, 0), "{target}");
        assert_eq!(second.header("etag"), Some(&*tag));
        assert_eq!(with_tag("\"another\"").status, 200);
        assert_eq!(with_tag(&format!("\"another\", {tag}")).status, 304);
        live.announce(&with(said("secret-1", "one.example", "192.0.2.10"), &json!({"load": 7})));
        let third = with_tag(&tag);
        assert_eq!(third.status, 200, "{target}");
        assert!(text(&third).contains("\"load_kib_s\":7"), "{}", text(&third));
    }
}

#[test]
fn head_answers_as_get_without_the_body() {
    let live = Live::start(options());
    live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    live.listed("one.example");
    for path in ["/nearest", "/all", "/wpad.dat", "/proxy.pac", "/v1/caches", "/v1/openapi.json"] {
        let get = live.get(path);
        let head = format!("HEAD {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let head = live.raw(head.as_bytes()).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        assert!(head.ends_with("\r\n\r\n"), "{path} has a body: {head}");
        let length = format!("content-length: {}\r\n", get.body.len());
        let kind = format!("content-type: {}\r\n", get.header("content-type").unwrap());
        assert!(head.contains(&length) && head.contains(&kind), "{head}");
    }
}

#[test]
fn what_is_not_there_says_so_as_its_path_does() {
    let live = Live::start(options());
    for path in ["/x", "/nearest/x", "/favicon.ico", "/v2/nearest"] {
        let answer = live.get(path);
        assert_eq!((answer.status, &*text(&answer)), (404, "not found"), "{path}");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    }
    for path in ["/v1/x", "/v1/caches/12", "/v1/caches/00000000000000zz", "/v1/"] {
        assert_eq!(reason(&live.get(path), 404), "not_found", "{path}");
    }
    for (method, path) in [("POST", "/nearest"), ("DELETE", "/all"), ("PUT", "/wpad.dat")] {
        let answer = live.send(Ask { method, target: path, headers: &[], body: &[] });
        assert_eq!((answer.status, &*text(&answer)), (405, "method not allowed"), "{path}");
        assert_eq!(answer.header("allow"), Some("GET"));
    }
    let id = "/v1/caches/0123456789abcdef";
    for (method, path, allow) in [
        ("GET", "/v1/heartbeat", "POST, DELETE"),
        ("PUT", "/v1/heartbeat", "POST, DELETE"),
        ("POST", "/v1/nearest", "GET, HEAD"),
        ("DELETE", id, "GET, HEAD"),
        ("GET", &format!("{id}/state"), "PUT"),
    ] {
        let answer = live.send(Ask { method, target: path, headers: &[], body: &[] });
        assert_eq!(reason(&answer, 405), "method_not_allowed", "{method} {path}");
        assert_eq!(answer.header("allow"), Some(allow));
    }
}

#[test]
fn scripts_for_browsers_have_their_type_and_their_caches() {
    let live = Live::start(options());
    let direct = "function FindProxyForURL(url, host)\n{\n    return \"DIRECT\";\n}\n";
    for path in ["/wpad.dat", "/proxy.pac"] {
        let answer = live.get(path);
        assert_eq!(answer.header("content-type"), Some("application/x-ns-proxy-autoconfig"));
        assert_eq!(text(&answer), direct);
    }
    live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    live.listed("one.example");
    let old = "PROXY http://one.example:3128; DIRECT";
    assert_eq!(text(&live.get("/wpad.dat")), direct.replace("DIRECT", old));
    let new = "PROXY one.example:3128; DIRECT";
    assert_eq!(text(&live.get("/proxy.pac")), direct.replace("DIRECT", new));
}

#[test]
fn a_server_that_starts_copies_the_list_of_its_peer() {
    let first = Live::start(Options { settle: Duration::ZERO, ..options() });
    let beat = with(
        said("secret-1", "one.example", "192.0.2.10"),
        &json!({"cloud": "cloud-a", "load": 5, "max_load": "1000", "cache_port": "3129"}),
    );
    first.announce(&beat);
    first.announce(&said("secret-2", "two.example", "192.0.2.11"));
    let placed = json!({"latitude": 46.25, "longitude": 6.5});
    first.announce(&with(said("secret-3", "three.example", "192.0.2.12"), &placed));
    first.lists(3);
    let drained = first.listed("three.example")["id"].as_str().unwrap().to_owned();
    assert_eq!(first.put_state(&drained, "drained").status, 204);
    // The first of the peers is not there.
    let peers = vec![format!("http://{}", free_address()), format!("http://{}", first.at)];
    let second = Live::start(Options { peers, secret: [9; 32], ..options() });
    until("a copy", || (second.get("/v1/ready").status == 200).then_some(()));
    second.lists(3);
    let three = second.listed("three.example");
    assert_eq!((&three["latitude"], &three["longitude"]), (&json!(46.25), &json!(6.5)));
    assert_eq!(three["state"], "drained");
    assert_eq!(
        second.announce_from("192.0.2.12", &said("own", "three.example", "192.0.2.12")).status,
        204
    );
    assert_eq!(second.listed("three.example")["state"], "drained");
    let (told, copied) = (first.listed("one.example"), second.listed("one.example"));
    for field in ["host", "port", "public_ip", "cloud", "load_kib_s", "max_load_kib_s", "type"] {
        assert_eq!(told[field], copied[field], "{field}");
    }
    // The copy's age goes on; it does not begin again.
    let again = second.listed("one.example")["age_s"].as_f64().unwrap();
    assert!(again >= copied["age_s"].as_f64().unwrap());
    // The agent's own heartbeat takes the copy's place, and a copy's name cannot be its uuid.
    let own = with(said("secret-1", "one.example", "192.0.2.10"), &json!({"cache_port": 3129}));
    assert_eq!(second.announce_from("192.0.2.10", &own).status, 204);
    until("the cache itself", || {
        let list = second.json("/v1/caches");
        let caches = list["caches"].as_array().unwrap();
        let ids: Vec<_> = caches.iter().filter(|one| one["host"] == "one.example").collect();
        (ids.len() == 1 && ids[0]["id"] != copied["id"]).then_some(())
    });
    second.lists(3);
    let metrics = text(&second.get("/metrics"));
    assert!(metrics.contains("\nshoal_caches_replaced_total 2\n"), "{metrics}");
}

#[test]
fn a_peer_that_is_not_ready_is_not_copied() {
    // It has not heard from everybody yet, so that an empty list of it says nothing.
    let peer = Live::start(options());
    peer.announce(&said("secret-1", "one.example", "192.0.2.10"));
    peer.lists(1);
    let peers = vec![format!("http://{}", peer.at)];
    let settle = Duration::from_secs(2);
    let live = Live::start(Options { peers, settle, ..options() });
    until("the end of its patience", || (live.get("/v1/ready").status == 200).then_some(()));
    live.lists(0);
}

#[test]
fn of_a_peer_s_list_each_entry_is_judged_by_itself() {
    let good = |n: u8| {
        json!({
            "id": format!("{n:016x}"), "host": format!("h{n}.example"), "port": 3128,
            "public_ip": format!("192.0.2.{n}"), "private_ip": null, "type": "squid",
            "upstream": "both", "cloud": null, "version": null, "state": "verified",
            "load_kib_s": 1, "max_load_kib_s": null, "country": null, "age_s": 1.5,
        })
    };
    let odd = [
        json!(null),
        json!("x"),
        json!({}),
        with(good(3), &json!({"port": "x"})),
        with(good(4), &json!({"public_ip": "127.0.0.1"})),
        with(good(5), &json!({"state": "unheard-of"})),
        with(good(6), &json!({"age_s": -1})),
        with(good(7), &json!({"host": "a b"})),
    ];
    let mut caches = vec![good(1)];
    caches.extend(odd);
    caches.push(with(good(2), &json!({"host": "[2001:db8::2]", "public_ip": "2001:db8::2"})));
    let list = json!({"generation": 1, "caches": caches}).to_string();
    let peer =
        Server::start(move |request| ok(if request.contains("/v1/ready") { "{}" } else { &list }));
    let live = Live::start(Options { peers: vec![peer.url()], ..options() });
    until("the copy", || (live.get("/v1/ready").status == 200).then_some(()));
    live.lists(2);
    assert_eq!(live.listed("h1.example")["state"], "verified");
    assert_eq!(live.listed("[2001:db8::2]")["public_ip"], "2001:db8::2");
}

#[test]
fn keys_and_sites_are_read_again_and_an_empty_list_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let [keys, sites] = ["keys", "sites"].map(|name| folder.path().join(name));
    std::fs::write(&keys, "old the-old-secret-of-16-bytes\n").unwrap();
    std::fs::write(&sites, "198.51.100.0/24 192.0.2.1\n").unwrap();
    let parsed = Keys::read(&std::fs::read_to_string(&keys).unwrap()).unwrap();
    let live = Live::start(Options {
        auth: Auth::Required,
        keys: parsed.clone(),
        keys_file: Some(keys.clone()),
        sites: Sites::parse(&std::fs::read_to_string(&sites).unwrap()).unwrap(),
        sites_file: Some(sites.clone()),
        ..options()
    });
    let time = std::cell::Cell::new((unix_s() * 1e3) as i64);
    let signed = |keys: &Keys, name: &str, n: u8| {
        time.set(time.get() + 1);
        let said = said(&format!("u{n}"), &format!("h{n}.example"), &format!("192.0.2.{n}"));
        let body = said.to_string();
        let headers = keys.get(name).unwrap().sign(body.as_bytes(), time.get()).headers();
        let mut all: Vec<_> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
        all.push(("X-Forwarded-For", "203.0.113.9"));
        live.message("POST", body.as_bytes(), &all).status
    };
    assert_eq!(signed(&parsed, "old", 1), 204);
    assert_eq!(signed(&parsed, "old", 2), 204);
    live.lists(2);
    assert_eq!(live.nearest("198.51.100.7", "?n=1"), ["h1.example"]);
    let files = || live.json("/v1/health")["files"].clone();
    let file =
        |name: &str| files().as_array().unwrap().iter().find(|one| one["file"] == name).cloned();
    // While both are rotated: old and new beside each other.
    let both = "old the-old-secret-of-16-bytes\nnew the-new-secret-of-16-bytes\n";
    std::fs::write(&keys, both).unwrap();
    std::fs::write(&sites, "198.51.100.0/24 192.0.2.2\n").unwrap();
    live.shared().reread();
    let both = Keys::read(both).unwrap();
    until("the new key", || (signed(&both, "new", 3) == 204).then_some(()));
    assert_eq!(signed(&parsed, "old", 1), 204);
    until("the new sites", || {
        (live.nearest("198.51.100.7", "?n=1") == ["h2.example"]).then_some(())
    });
    for broken in ["", "# none\n", "new short\n"] {
        std::fs::write(&keys, broken).unwrap();
        live.shared().reread();
        until("the broken list is told of", || (file("keys")?["read"] == false).then_some(()));
        assert_eq!(signed(&both, "new", 3), 204, "{broken:?}");
        std::fs::write(&keys, "new the-new-secret-of-16-bytes\n").unwrap();
        live.shared().reread();
        until("it is whole again", || (file("keys")?["read"] == true).then_some(()));
    }
    assert_eq!(signed(&parsed, "old", 1), 401);
    assert_eq!(file("sites").unwrap()["read"], true);
}

#[test]
fn a_peer_that_never_answers_holds_nothing_up() {
    // It takes connections, and that is all.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let peers = vec![format!("http://{}", silent.local_addr().unwrap())];
    let live = Live::start(Options { peers, ..options() });
    live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    // Published while the list is still waited for: it is not ready yet.
    live.listed("one.example");
    assert_eq!(reason(&live.get("/v1/ready"), 503), "starting");
    live.stop();
}

#[test]
fn a_server_without_a_peer_is_not_ready_at_once_but_healthy() {
    let live = Live::start(options());
    let answer = live.get("/v1/ready");
    assert_eq!(reason(&answer, 503), "starting");
    assert_eq!(answer.header("retry-after"), Some("5"));
    let health = live.json("/v1/health");
    assert_eq!((&health["status"], &health["caches"]), (&json!("ok"), &json!(0)));
}

#[test]
fn a_server_that_ends_answers_what_was_begun_and_closes_what_is_idle() {
    // One thread takes connections in the order in which they came.
    let live = Live::start(Options { threads: 1, ..trusting() });
    let beat = said("secret-1", "one.example", "192.0.2.10").to_string();
    let (begin, rest) = beat.split_at(20);
    let mut begun = live.connect();
    let head = format!("POST /v1/heartbeat HTTP/1.1\r\nContent-Length: {}\r\n\r\n", beat.len());
    begun.write_all(format!("{head}{begin}").as_bytes()).unwrap();
    let mut idle = live.connect();
    idle.write_all(b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut first = [0; 4];
    idle.read_exact(&mut first).unwrap();
    // Both are known to the server now: it is told to end, and then the rest comes.
    live.shared().stop();
    let mut more = String::new();
    idle.read_to_string(&mut more).unwrap();
    begun.write_all(rest.as_bytes()).unwrap();
    let mut answer = String::new();
    begun.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    live.stop();
}

#[test]
fn a_server_on_every_address_knows_loopback_in_both_families() {
    let every = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    if let Err(error) = std::net::TcpListener::bind(every) {
        let name = "a_server_on_every_address_knows_loopback_in_both_families";
        return plimsoll_testing::skip(name, &format!("namespaces: no IPv6: {error}"));
    }
    let live = Live::start(Options { listen: every, ..trusting() });
    for (host, uuid) in [("127.0.0.1", "four"), ("::1", "six")] {
        let body = said(uuid, "one.example", "192.0.2.10").to_string();
        let request = Request {
            method: "POST",
            target: "/v1/heartbeat",
            host: "a",
            headers: &[],
            body: body.as_bytes(),
        };
        let peer = Peer::new(host, live.at.port());
        let answer = exchange(&Plain, peer, &request, Limits::within(PATIENCE)).unwrap();
        assert_eq!(answer.status, 204, "{host}: {}", text(&answer));
    }
    // A client that IPv6 only carries is shown as it is.
    assert_eq!(live.json("/v1/nearest")["client"]["ip"], "127.0.0.1");
}
