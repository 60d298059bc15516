//! The security rules, each attacked through the HTTP interface of a running server.
//!
//! Rule 5 is about verification, and of rule 7 what is here is the geo-API: the page, TLS and
//! passwords have tests of their own.

use plimsoll_net::http::client::Answer;
use plimsoll_shoal::auth::Keys;
use plimsoll_shoal::registry::Settings;
use plimsoll_shoal::server::{Auth, Options};
use serde_json::{Value, json};

use crate::support::live::{Ask, Live, options, places, reason, said, text, unix_s, with};

const KEYS: &str = "site-a 00112233445566778899aabbccddeeff\n\
    site-b a-secret-of-the-site-b\n\
    narrow a-secret-of-the-narrow clouds=cloud-a networks=192.0.2.0/24\n";

fn keys() -> Keys {
    Keys::read(KEYS).unwrap()
}

/// Now, milliseconds since 1970.
fn unix_ms() -> i64 {
    (unix_s() * 1e3) as i64
}

fn send_signed(live: &Live, method: &str, body: &str, headers: &[(&str, String)]) -> Answer {
    let mut all = vec![("X-Forwarded-For", "203.0.113.9")];
    all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
    live.message(method, body.as_bytes(), &all)
}

/// A heartbeat signed with a key, from an address that is not the cache's.
fn signed(live: &Live, key: &str, unix_ms: i64, said: &Value) -> Answer {
    let body = said.to_string();
    let headers = keys().get(key).unwrap().sign(body.as_bytes(), unix_ms).headers();
    send_signed(live, "POST", &body, &headers)
}

fn listed(live: &Live) -> usize {
    // Not what was published last, but what is known now.
    live.shared().registry().len()
}

#[test]
fn rule_1_a_stranger_announces_its_own_address_only() {
    let trust = vec!["198.51.100.0/24".parse().unwrap()];
    let live = Live::start(Options { trust, ..options() });
    let other = said("secret-1", "victim.example", "192.0.2.10");
    let stranger = "203.0.113.9";
    assert_eq!(reason(&live.announce_from(stranger, &other), 403), "address_mismatch");
    // Nor as its external address, nor beside its own.
    let external = with(other.clone(), &json!({"public_ip": null, "external_ip": "192.0.2.10"}));
    assert_eq!(reason(&live.announce_from(stranger, &external), 403), "address_mismatch");
    let beside = with(other.clone(), &json!({"external_ip": stranger}));
    assert_eq!(reason(&live.announce_from(stranger, &beside), 403), "address_mismatch");
    // Nor mapped into IPv6.
    let mapped = with(other.clone(), &json!({"public_ip": "::ffff:192.0.2.10"}));
    assert_eq!(reason(&live.announce_from(stranger, &mapped), 403), "address_mismatch");
    assert_eq!(listed(&live), 0);
    assert_eq!(live.announce_from("192.0.2.10", &mapped).status, 204);

    // The entry is its announcer's: nobody else renews it, moves it or takes it away.
    let later = with(other.clone(), &json!({"timestamp": unix_s(), "load": 999_999_999}));
    assert_eq!(reason(&live.announce_from(stranger, &later), 403), "other_source");
    let bye = json!({"uuid": "secret-1", "timestamp": unix_s() + 5.0, "goodbye": true}).to_string();
    let bye = live.message("DELETE", bye.as_bytes(), &[("X-Forwarded-For", stranger)]);
    assert_eq!(reason(&bye, 403), "other_source");
    assert_eq!(live.listed("victim.example")["load_kib_s"], 0);

    // Who is trusted announces any; so does who comes by the operator's socket.
    let trusted = said("secret-2", "other.example", "192.0.2.20");
    assert_eq!(live.announce_from("198.51.100.7", &trusted).status, 204);
    assert_eq!(live.announce(&said("secret-3", "third.example", "192.0.2.30")).status, 204);
    // A stranger that says that it is verified is not.
    let verified = with(said("secret-4", "own.example", stranger), &json!({"verified": true}));
    assert_eq!(live.announce_from(stranger, &verified).status, 204);
    assert_eq!(live.listed("own.example")["state"], "unverified");
    // And has no say about any cache, its own neither.
    let target = format!("/v1/caches/{}/state", live.listed("own.example")["id"].as_str().unwrap());
    let headers = [("X-Forwarded-For", stranger)];
    let put =
        Ask { method: "PUT", target: &target, headers: &headers, body: b"{\"state\":\"banned\"}" };
    assert_eq!(reason(&live.send(put), 403), "not_trusted");
}

#[test]
fn rule_2_signatures_are_looked_at_as_the_server_is_told() {
    let beat = || said("secret-1", "one.example", "192.0.2.10");
    let wrong = [("x-shoal-key", "site-a".to_owned()), ("x-shoal-time", unix_ms().to_string())];
    // Off: they mean nothing, so a stranger stays one.
    let off = Live::start(Options { keys: keys(), ..options() });
    assert_eq!(reason(&signed(&off, "site-a", unix_ms(), &beat()), 403), "address_mismatch");
    // Required: nothing goes without, not from an operator either.
    let required = Live::start(Options { auth: Auth::Required, keys: keys(), ..options() });
    assert_eq!(reason(&required.announce(&beat()), 401), "signature");
    assert_eq!(reason(&required.announce_from("192.0.2.10", &beat()), 401), "signature");
    let half = send_signed(&required, "POST", &beat().to_string(), &wrong);
    assert_eq!(reason(&half, 401), "signature");
    assert_eq!(signed(&required, "site-a", unix_ms(), &beat()).status, 204);
    let bye = json!({"uuid": "secret-1", "timestamp": unix_s() + 1.0, "goodbye": true}).to_string();
    let unsigned = required.message("DELETE", bye.as_bytes(), &[]);
    assert_eq!(reason(&unsigned, 401), "signature");
    let headers = keys().get("site-a").unwrap().sign(bye.as_bytes(), unix_ms() + 1).headers();
    assert_eq!(send_signed(&required, "DELETE", &bye, &headers).status, 204);
    // Optional: without is a stranger's word, with one it must be right.
    let optional = Live::start(Options { auth: Auth::Optional, keys: keys(), ..options() });
    assert_eq!(optional.announce_from("192.0.2.10", &beat()).status, 204);
    let half = send_signed(&optional, "POST", &beat().to_string(), &wrong);
    assert_eq!(reason(&half, 401), "signature");
}

#[test]
fn rule_2_a_signature_is_of_this_body_this_moment_and_this_key_once() {
    let live = Live::start(Options { auth: Auth::Required, keys: keys(), ..options() });
    let now = unix_ms();
    let beat = said("secret-1", "one.example", "192.0.2.10");
    let body = beat.to_string();
    let headers = keys().get("site-a").unwrap().sign(body.as_bytes(), now).headers();
    let refused = |body: &str, headers: &[(&str, String)]| {
        assert_eq!(reason(&send_signed(&live, "POST", body, headers), 401), "signature");
    };
    // Another body, another time, another key, another code.
    refused(&body.replace("one.example", "two.example"), &headers);
    for (place, value) in [
        (0, "site-b".to_owned()),
        (0, "nobody".to_owned()),
        (1, (now + 1).to_string()),
        (1, format!("+{now}")),
        (2, "0".repeat(64)),
        (2, headers[2].1[..63].to_owned()),
    ] {
        let mut changed = headers.clone();
        changed[place].1 = value;
        refused(&body, &changed);
    }
    // One header twice.
    refused(&body, &[&headers[..], &headers[2..]].concat());
    // Too old and too new by a second.
    for shift in [-121_000, 122_000] {
        assert_eq!(reason(&signed(&live, "site-a", now + shift, &beat), 401), "signature");
    }
    assert_eq!(listed(&live), 0);
    assert_eq!(send_signed(&live, "POST", &body, &headers).status, 204);
    // Again, and older than the last.
    refused(&body, &headers);
    let later = with(beat.clone(), &json!({"timestamp": unix_s() + 1.0}));
    assert_eq!(reason(&signed(&live, "site-a", now - 1, &later), 401), "signature");
    assert_eq!(signed(&live, "site-a", now + 1, &later).status, 204);
    // Another key does not speak for the entry; nor does it take its place under a new uuid.
    let stolen = with(beat.clone(), &json!({"timestamp": unix_s() + 2.0}));
    assert_eq!(reason(&signed(&live, "site-b", unix_ms(), &stolen), 403), "other_source");
    let twin = said("secret-9", "evil.example", "192.0.2.10");
    assert_eq!(reason(&signed(&live, "site-b", unix_ms(), &twin), 403), "other_source");
    assert_eq!(live.listed("one.example")["public_ip"], "192.0.2.10");
}

#[test]
fn rule_2_what_is_not_signed_never_changes_what_is() {
    let live = Live::start(Options { auth: Auth::Optional, keys: keys(), ..options() });
    let beat = said("secret-1", "one.example", "192.0.2.10");
    assert_eq!(signed(&live, "site-a", unix_ms(), &beat).status, 204);
    let later = with(beat, &json!({"timestamp": unix_s() + 1.0, "load": 5}));
    let twin = said("secret-9", "evil.example", "192.0.2.10");
    let bye = json!({"uuid": "secret-1", "timestamp": unix_s() + 1.0, "goodbye": true}).to_string();
    for client in ["192.0.2.10", "203.0.113.9"] {
        assert_eq!(reason(&live.announce_from(client, &later), 403), "other_source", "{client}");
        let answer = live.message("DELETE", bye.as_bytes(), &[("X-Forwarded-For", client)]);
        assert_eq!(reason(&answer, 403), "other_source", "{client}");
    }
    // Nor from an operator, who may announce any address, nor under a new uuid.
    assert_eq!(reason(&live.announce(&later), 403), "other_source");
    assert_eq!(reason(&live.announce(&twin), 403), "other_source");
    assert_eq!(reason(&live.announce_from("192.0.2.10", &twin), 403), "other_source");
    assert_eq!(live.listed("one.example")["load_kib_s"], 0);
    assert_eq!(listed(&live), 1);
}

#[test]
fn rule_2_a_key_is_for_its_clouds_and_networks() {
    let live = Live::start(Options { auth: Auth::Required, keys: keys(), ..options() });
    let good = with(said("secret-1", "one.example", "192.0.2.10"), &json!({"cloud": "cloud-a"}));
    let mut time = unix_ms();
    let mut send = |more: &Value| {
        time += 1;
        signed(&live, "narrow", time, &with(good.clone(), more))
    };
    assert_eq!(reason(&send(&json!({"cloud": "cloud-b"})), 403), "key_scope");
    assert_eq!(reason(&send(&json!({"cloud": null})), 403), "key_scope");
    assert_eq!(reason(&send(&json!({"public_ip": "198.51.100.1"})), 403), "key_scope");
    assert_eq!(reason(&send(&json!({"external_ip": "198.51.100.1"})), 403), "key_scope");
    let private = json!({"public_ip": null, "private_ip": "10.0.0.1"});
    assert_eq!(reason(&send(&private), 403), "key_scope");
    assert_eq!(send(&json!({})).status, 204);
    assert_eq!(listed(&live), 1);
}

#[test]
fn rule_3_a_source_has_64_entries_and_no_more() {
    let live = Live::start(Options { auth: Auth::Optional, keys: keys(), ..options() });
    let beat = |n: u16, address: &str| {
        let more = json!({"cache_port": 1000 + n});
        with(said(&format!("{n}-{}", address.replace('.', "-")), "many.example", address), &more)
    };
    let peer = "203.0.113.9";
    for n in 0..64 {
        assert_eq!(live.announce_from(peer, &beat(n, peer)).status, 204, "{n}");
        let with_key = signed(&live, "site-a", unix_ms(), &beat(n, "192.0.2.10"));
        assert_eq!(with_key.status, 204, "{n}");
    }
    let answer = live.announce_from(peer, &beat(64, peer));
    assert_eq!(reason(&answer, 429), "source_full");
    assert!(answer.header("retry-after").is_some());
    let answer = signed(&live, "site-a", unix_ms(), &beat(64, "192.0.2.10"));
    assert_eq!(reason(&answer, 429), "source_full");
    // The living are renewed, and one of them may come again under a new uuid.
    let known = with(beat(3, peer), &json!({"timestamp": unix_s() + 1.0}));
    assert_eq!(live.announce_from(peer, &known).status, 204);
    let again = with(beat(4, peer), &json!({"uuid": "secret-new"}));
    assert_eq!(live.announce_from(peer, &again).status, 204);
    // Another source has its own 64; an operator has as many as it likes.
    assert_eq!(live.announce_from("203.0.113.10", &beat(0, "203.0.113.10")).status, 204);
    for n in 0..70 {
        assert_eq!(live.announce(&beat(n, "198.51.100.1")).status, 204, "{n}");
    }
    assert_eq!(listed(&live), 64 + 64 + 1 + 70);
}

#[test]
fn rule_3_a_full_registry_refuses_the_new_and_keeps_the_living() {
    let settings = Settings { most_entries: 2, ..Settings::default() };
    let live = Live::start(Options { settings, ..options() });
    for (n, host) in ["one.example", "two.example"].into_iter().enumerate() {
        let beat = said(&format!("secret-{n}"), host, &format!("192.0.2.{n}"));
        assert_eq!(live.announce(&beat).status, 204);
    }
    // Not even who is trusted evicts anybody.
    let third = said("secret-3", "three.example", "192.0.2.3");
    for answer in [live.announce(&third), live.announce_from("192.0.2.3", &third)] {
        assert_eq!(reason(&answer, 503), "full");
        assert!(answer.header("retry-after").is_some());
    }
    let known = said("secret-0", "one.example", "192.0.2.0");
    assert_eq!(live.announce(&known).status, 204);
    assert_eq!(live.listed("one.example")["host"], "one.example");
    assert_eq!(live.listed("two.example")["host"], "two.example");
    assert_eq!(listed(&live), 2);
}

#[test]
fn rule_3_a_network_announces_at_its_rate() {
    // One in a hundred seconds: the first passes.
    let live = Live::start(Options { rate: 0.01, ..options() });
    let slow = Live::start(Options { rate: 1.0, ..options() });
    let peer = "203.0.113.9";
    let first = live.announce_from(peer, &said("secret-0", "one.example", peer));
    assert_eq!(first.status, 204, "{}", text(&first));
    let mut refused = None;
    for n in 0..40 {
        let answer = slow.announce_from(peer, &said(&format!("secret-{n}"), "one.example", peer));
        if answer.status != 204 {
            refused = Some((n, answer));
            break;
        }
    }
    let (n, answer) = refused.unwrap();
    assert!(n >= 10, "{n}");
    assert_eq!(reason(&answer, 429), "too_often");
    let wait: u32 = answer.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(wait, 1);
    // Goodbyes count too, and so does what is no heartbeat; another network is not concerned.
    for method in ["DELETE", "POST"] {
        let mut statuses =
            (0..20).map(|_| live.message(method, b"{", &[("X-Forwarded-For", peer)]).status);
        assert!(statuses.any(|status| status == 429), "{method}");
    }
    let other = "198.51.100.9";
    assert_eq!(live.announce_from(other, &said("secret-8", "two.example", other)).status, 204);
    // An operator may announce as often as it likes.
    for n in 0..200 {
        let answer = live.announce(&said(&format!("own-{n}"), "own.example", "192.0.2.1"));
        assert_eq!(answer.status, 204);
    }
    assert!(text(&live.get("/metrics")).contains("shoal_refused_total{reason=\"too_often\"} "));
}

#[test]
fn rule_4_nothing_that_could_be_a_command_is_listed() {
    let live = Live::start(options());
    let good = said("secret-1", "one.example", "192.0.2.10");
    let refused = |more: &Value, why: &str| {
        let answer = live.announce(&with(good.clone(), more));
        assert_eq!(reason(&answer, 400), why, "{more}");
        assert!(!text(&answer).contains("secret"), "{}", text(&answer));
    };
    let long = "a".repeat(254);
    for host in
        ["a b", "a\"; alert(1)", "a;b", "a|b", "a\nb", "ä.example", "a_b", "$(id)", "", &long]
    {
        refused(&json!({"hostname": host}), "range");
    }
    for port in [json!(0), json!(65536), json!(-1), json!("0"), json!("+80"), json!("80 ")] {
        refused(&json!({"cache_port": port}), "range");
    }
    for load in [json!(-1), json!(-0.5), json!(1_000_000_001), json!(1e300)] {
        refused(&json!({"load": load}), "range");
    }
    for (field, value) in [("load", json!("1")), ("timestamp", json!("now")), ("uuid", json!(1))] {
        refused(&json!({ field: value }), "type");
    }
    for field in ["public_ip", "external_ip"] {
        for none in ["127.0.0.1", "0.0.0.0", "169.254.1.1", "224.0.0.1", "255.255.255.255"] {
            refused(&json!({ field: none }), "range");
        }
        for none in ["::", "::1", "fe80::1", "ff02::1", "::ffff:127.0.0.1"] {
            refused(&json!({ field: none }), "range");
        }
    }
    refused(&json!({"public_ip": "192.0.2.1; rm"}), "range");
    refused(&json!({"cloud": "<script>"}), "range");
    refused(&json!({"version": "1\r\nSet-Cookie: a"}), "range");
    refused(&json!({"x": [[[[1]]]]}), "malformed");
    let twice = good.to_string().replacen('{', "{\"load\":1,", 1);
    for body in [twice.as_str(), "[]", "null", "", "{", "\u{feff}{}", &"[".repeat(8000)] {
        let answer = live.message("POST", body.as_bytes(), &[("X-Forwarded-For", "192.0.2.10")]);
        assert_eq!(reason(&answer, 400), "malformed", "{body}");
    }
    let nan = good.to_string().replace("\"load\":0", "\"load\":NaN");
    assert_eq!(reason(&live.message("POST", nan.as_bytes(), &[]), 400), "malformed");
    let long = with(good.clone(), &json!({"x": "y".repeat(8200)}));
    assert_eq!(reason(&live.announce(&long), 413), "too_long");
    assert_eq!(listed(&live), 0);
    assert_eq!(live.announce(&good).status, 204);
}

#[test]
fn rule_6_a_client_s_address_is_what_our_proxies_say() {
    let told = |live: &Live, headers: &[(&str, &str)]| {
        let ask = Ask { method: "GET", target: "/v1/nearest", headers, body: &[] };
        let body: Value = serde_json::from_slice(&live.send(ask).body).unwrap();
        body["client"]["ip"].as_str().unwrap().to_owned()
    };
    let forwarded = "X-Forwarded-For";
    // Nobody is believed where no proxy is ours.
    let none = Live::start(Options { trusted_proxies: Vec::new(), ..options() });
    assert_eq!(told(&none, &[(forwarded, "203.0.113.9")]), "127.0.0.1");
    let proxies = ["127.0.0.0/8", "10.0.0.0/8"].map(|net| net.parse().unwrap()).to_vec();
    let live = Live::start(Options { trusted_proxies: proxies, ..options() });
    let ten = ["10.0.0.1"; 9].join(", ");
    let (near, far) = (format!("203.0.113.9, {ten}"), format!("203.0.113.9, {ten}, 10.0.0.2"));
    for (value, client) in [
        ("203.0.113.9", "203.0.113.9"),
        // What the client itself wrote stands at the left, and is not looked at.
        ("127.0.0.1, 203.0.113.9", "203.0.113.9"),
        ("nonsense, 203.0.113.9", "203.0.113.9"),
        ("203.0.113.9, 10.1.1.1", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8::1", "2001:db8::1"),
        (&near, "203.0.113.9"),
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        // Malformed or too far: the peer.
        (&far, "127.0.0.1"),
        ("203.0.113.9:x", "127.0.0.1"),
        ("\"203.0.113.9\"", "127.0.0.1"),
        ("203.0.113.9,", "127.0.0.1"),
        ("unknown", "127.0.0.1"),
        ("", "127.0.0.1"),
    ] {
        assert_eq!(told(&live, &[(forwarded, value)]), client, "{value:?}");
    }
    let two = [(forwarded, "198.51.100.1"), ("x-forwarded-for", "203.0.113.9")];
    assert_eq!(told(&live, &two), "203.0.113.9");
}

#[test]
fn rule_6_another_s_address_in_the_query_is_geography_and_nothing_else() {
    let name = "rule_6_another_s_address_in_the_query_is_geography_and_nothing_else";
    let Some(geography) = places(name) else { return };
    let live = Live::start(Options { geography, ..options() });
    live.announce(&said("secret-1", "uk.example", "81.2.69.160"));
    live.announce(&said("secret-2", "se.example", "89.160.20.112"));
    live.lists(2);
    let ask = |client: &str, query: &str| -> Value {
        let target = format!("/v1/nearest{query}");
        serde_json::from_slice(&live.get_from(client, &target).body).unwrap()
    };
    // A stranger that gives a site's address is answered for its place, not as one of the site.
    let asked = ask("203.0.113.9", "?ip=81.2.69.160");
    assert_eq!(asked["caches"][0]["host"], "uk.example");
    assert_eq!(asked["caches"][0]["local"], false);
    assert_eq!(ask("81.2.69.160", "")["caches"][0]["local"], true);
    // Who is at the site stays there.
    let asked = ask("81.2.69.160", "?ip=89.160.20.112");
    let local: Vec<_> = asked["caches"].as_array().unwrap().iter().map(|c| &c["local"]).collect();
    assert_eq!((&asked["caches"][0]["host"], local[0]), (&json!("uk.example"), &json!(true)));
    // The old paths know no such thing.
    let old: Value =
        serde_json::from_slice(&live.get_from("81.2.69.161", "/nearest?ip=89.160.20.112").body)
            .unwrap();
    assert_eq!(old["0"]["hostname"], "uk.example");
    // It is no way around the limits of announcements either.
    let beat = said("secret-3", "own.example", "89.160.20.112").to_string();
    let headers = [("X-Forwarded-For", "203.0.113.9")];
    let target = "/v1/heartbeat?ip=89.160.20.112";
    let answer =
        live.send(Ask { method: "POST", target, headers: &headers, body: beat.as_bytes() });
    assert_eq!(reason(&answer, 403), "address_mismatch");
}

#[test]
fn rule_7_a_question_to_the_geo_api_has_bounds() {
    let name = "rule_7_a_question_to_the_geo_api_has_bounds";
    let Some(geography) = places(name) else { return };
    let live = Live::start(Options { geography, ..options() });
    // `_` stands in no name: it is not looked up.
    let ask =
        |list: &str| live.get_from("2.125.160.216", &format!("/cvmfs/r/api/v1.0/geo/_/{list}"));
    let addresses = |count: usize| vec!["81.2.69.160"; count].join(",");
    let most = ask(&addresses(64));
    assert_eq!(most.status, 200);
    assert_eq!(text(&most).split(',').count(), 64);
    let more = ask(&addresses(65));
    assert_eq!((more.status, &*text(&more)), (400, "Bad Request: more than 64 servers\n"));
    assert_eq!(more.header("cache-control"), Some("max-age=300"));
    // A name of 257 bytes, one of other characters and an address with a port are not looked up.
    let long = "a".repeat(257);
    let none = ask(&format!("{long},a_b,$(id),81.2.69.160:80,[::1]"));
    assert_eq!(
        (none.status, &*text(&none)),
        (400, "Bad Request: no server addr found in database\n")
    );
    let one = ask(&format!("{long},a_b,81.2.69.160"));
    assert_eq!((one.status, &*text(&one)), (200, "3,1,2\n"));
}
