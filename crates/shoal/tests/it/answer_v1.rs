//! The bodies below `/v1`.

use std::sync::Arc;

use plimsoll_shoal::Now;
use plimsoll_shoal::answer::{problem, v1};
use plimsoll_shoal::geo::{Place, Spot};
use plimsoll_shoal::heartbeat::Refusal;
use plimsoll_shoal::order::Pick;
use plimsoll_shoal::registry::{Cache, State};
use plimsoll_shoal::server::BROKER_REASONS;
use serde_json::{Value, json};

use crate::answer_openapi::document;
use crate::support::beat::cache;
use crate::support::schema::faults;

const NOW: Now = Now { elapsed_ns: 12_340_000_000, unix_s: 1_795_162_063.0 };

fn geneva() -> Place {
    Place { latitude: 46.2, longitude: 6.1, country_code: Some("CH".into()), ..Place::default() }
}

fn full() -> Arc<Cache> {
    let said = json!({
        "uuid": "d03b93b6e4b811f19f970e468af6f828", "cache_port": "3129", "max_load": "250000",
        "private_ip": "10.1.2.3", "load": 30.25, "cloud": "cloud-a", "version": "1.0 \"x\"",
        "cache_type": "varnish", "upstream": "frontier",
    });
    cache(26, Some(geneva()), &said)
}

/// Without all that an agent may leave out.
fn bare() -> Arc<Cache> {
    let said = json!({"public_ip": null, "external_ip": "2001:db8::7", "load": 7});
    cache(27, None, &said)
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut out = Vec::new();
    write(&mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains("d03b93b6"), "the secret is in {text}");
    assert!(text.is_ascii(), "{text}");
    serde_json::from_str(&text).unwrap()
}

fn check(schema: &str, value: &Value) {
    let document = document();
    let schema = &document["components"]["schemas"][schema];
    assert_eq!(faults(&document, schema, value), Vec::<String>::new());
}

#[test]
fn nearest_is_as_documented() {
    let client = v1::Client {
        ip: [192, 0, 2, 77].into(),
        spot: Some(Spot { latitude: 46.0, longitude: 6.0, country: Some(*b"CH") }),
    };
    let (full, bare) = (full(), bare());
    let picks = [
        Pick { cache: &full, distance_km: Some(23.456), local: true },
        Pick { cache: &bare, distance_km: None, local: false },
        Pick { cache: &bare, distance_km: Some(20_015.08), local: false },
    ];
    let answer = written(|out| v1::nearest(out, client, 42, &picks, NOW));
    check("Nearest", &answer);
    let full = json!({
        "id": "00ff00000000001a", "host": "squid26.example", "port": 3129,
        "public_ip": "192.0.2.26", "private_ip": "10.1.2.3", "type": "varnish",
        "upstream": "frontier", "cloud": "cloud-a", "version": "1.0 \"x\"",
        "state": "unverified", "load_kib_s": 30.25, "max_load_kib_s": 250_000, "country": "CH",
        "age_s": 12.3, "distance_km": 23.5, "local": true,
    });
    assert_eq!(answer["caches"][0], full);
    let bare = json!({
        "id": "00ff00000000001b", "host": "squid27.example", "port": 3128,
        "public_ip": "2001:db8::7", "private_ip": null, "type": "squid", "upstream": "both",
        "cloud": null, "version": null, "state": "unverified", "load_kib_s": 7,
        "max_load_kib_s": null, "country": null, "age_s": 12.3, "distance_km": null,
        "local": false,
    });
    assert_eq!(answer["caches"][1], bare);
    assert_eq!(answer["caches"][2]["distance_km"], 20_015.1);
    assert_eq!(answer["client"], json!({"ip": "192.0.2.77", "located": true, "country": "CH"}));
    assert_eq!(answer["generation"], 42);
}

#[test]
fn nothing_is_an_empty_list() {
    let client = v1::Client { ip: "2001:db8::1".parse().unwrap(), spot: None };
    let answer = written(|out| v1::nearest(out, client, 0, &[], NOW));
    check("Nearest", &answer);
    let nobody = json!({"ip": "2001:db8::1", "located": false, "country": null});
    assert_eq!(answer, json!({"client": nobody, "generation": 0, "caches": []}));
    let answer = written(|out| v1::caches(out, 0, [].iter(), NOW));
    check("Caches", &answer);
    assert_eq!(answer, json!({"generation": 0, "caches": []}));
}

#[test]
fn caches_and_a_cache_are_as_documented_in_every_state() {
    let all = [full(), bare()];
    for state in [State::Unverified, State::Verified, State::Failing, State::Drained, State::Banned]
    {
        all[0].set_state(state);
        let list = written(|out| v1::caches(out, 7, all.iter(), NOW));
        check("Caches", &list);
        let one = written(|out| v1::cache(out, &all[0], NOW));
        check("ListedCache", &one);
        assert_eq!((&one["latitude"], &one["signed"]), (&json!(46.2), &json!(false)));
        assert_eq!(list["caches"][0], one);
        assert_eq!(one["state"], state.name());
        assert!(one.get("distance_km").is_none() && one.get("local").is_none());
    }
}

#[test]
fn an_age_is_never_below_zero() {
    let before = Now { elapsed_ns: 0, unix_s: 0.0 };
    assert_eq!(written(|out| v1::cache(out, &full(), before))["age_s"], 0);
}

#[test]
fn an_etag_changes_with_the_membership_and_with_states() {
    let all = [full(), bare()];
    let tag = v1::etag(7, all.iter());
    assert!(tag.starts_with("W/\"7-") && tag.ends_with('"'), "{tag}");
    assert_eq!(v1::etag(7, all.iter()), tag);
    assert_ne!(v1::etag(8, all.iter()), tag);
    assert_ne!(v1::etag(7, all[..1].iter()), tag);
    assert_ne!(v1::etag(7, all.iter().rev()), tag);
    all[1].set_state(State::Verified);
    assert_ne!(v1::etag(7, all.iter()), tag);
}

#[test]
fn if_none_match_is_compared_weakly() {
    let tag = "W/\"7-ab\"";
    for header in ["W/\"7-ab\"", "\"7-ab\"", "\"x\", W/\"7-ab\"", "*", " W/\"7-ab\" ,\"y\""] {
        assert!(v1::none_match(header, tag), "{header}");
    }
    for header in ["", "\"7-a\"", "7-ab", "W/\"7-AB\""] {
        assert!(!v1::none_match(header, tag), "{header}");
    }
}

#[test]
fn health_and_readiness_are_as_documented() {
    let broker = |name, reason: Option<&'static str>, message_age_s| v1::BrokerHealth {
        name,
        connected: reason.is_none(),
        reason,
        message_age_s,
    };
    let brokers = [broker("b:5672", Some("away"), None), broker("c:5672", None, Some(2.04))];
    let told = v1::Health {
        version: "0.1.0",
        generation: 42,
        caches: 1000,
        message_age_s: Some(1.0),
        brokers: &brokers,
        files: &[("geo", true), ("keys", false)],
        object: Some(false),
    };
    let health = written(|out| v1::health(out, &told));
    check("Health", &health);
    for reason in BROKER_REASONS {
        let one = [broker("b", Some(reason), None)];
        let told = v1::Health { brokers: &one, object: None, message_age_s: None, ..told };
        check("Health", &written(|out| v1::health(out, &told)));
    }
    let expected = json!({
        "status": "ok", "version": "0.1.0", "generation": 42, "caches": 1000,
        "message_age_s": 1, "object": "suspect",
        "files": [{"file": "geo", "read": true}, {"file": "keys", "read": false}],
        "brokers": [
            {"broker": "b:5672", "connected": false, "reason": "away", "message_age_s": null},
            {"broker": "c:5672", "connected": true, "reason": null, "message_age_s": 2},
        ],
    });
    assert_eq!(health, expected);
    let ready = written(|out| assert_eq!(v1::ready(out, true), 200));
    check("Ready", &ready);
    let starting = written(|out| assert_eq!(v1::ready(out, false), 503));
    check("Problem", &starting);
    assert_eq!(starting["reason"], "starting");
}

#[test]
fn every_refusal_is_a_documented_problem() {
    let refusals = [
        Refusal::Malformed("a list".into()),
        Refusal::TooLong(9000),
        Refusal::Missing("load"),
        Refusal::Type("load", "a number"),
        Refusal::Range("load", "from 0 to 10⁹"),
        Refusal::Stale(200),
        Refusal::Ahead(200),
        Refusal::Character("hostname", '_'),
        Refusal::SenderUnknown,
        Refusal::AddressMismatch,
        Refusal::OtherSource,
        Refusal::Signature("missing"),
        Refusal::KeyScope("cloud-b"),
        Refusal::SourceFull(64),
        Refusal::Full,
        Refusal::TooOften,
        Refusal::Unknown,
    ];
    for refusal in &refusals {
        let detail = refusal.to_string();
        let answer = written(|out| problem(out, 400, refusal.reason(), &detail));
        check("Problem", &answer);
        let expected = json!({
            "type": "about:blank", "title": "Bad Request", "status": 400, "detail": detail,
            "reason": refusal.reason(),
        });
        assert_eq!(answer, expected);
    }
    let mut words: Vec<_> = refusals.iter().map(Refusal::reason).collect();
    let mut all = Refusal::REASONS.to_vec();
    words.sort_unstable();
    words.dedup();
    all.sort_unstable();
    assert_eq!(words, all, "each is counted from the start");
}

#[test]
fn the_schemas_can_be_violated() {
    let document = document();
    let schema = &document["components"]["schemas"]["Cache"];
    let mut good = written(|out| v1::cache(out, &full(), NOW));
    for key in ["latitude", "longitude", "signed"] {
        good.as_object_mut().unwrap().remove(key);
    }
    for (key, value) in [
        ("id", json!("1A")),
        ("port", json!("3128")),
        ("port", json!(0)),
        ("host", json!("a b")),
        ("state", json!("well")),
        ("country", json!("Switzerland")),
        ("age_s", json!(-1)),
        ("uuid", json!("d03b93b6e4b811f19f970e468af6f828")),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        assert_eq!(faults(&document, schema, &bad).len(), 1, "{key}");
    }
    let mut bad = good;
    bad.as_object_mut().unwrap().remove("host");
    assert_eq!(faults(&document, schema, &bad).len(), 1);
}
