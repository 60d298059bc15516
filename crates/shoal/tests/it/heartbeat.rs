//! Heartbeats: what real agents say is understood, what breaks Shoal's server is refused.

use std::net::IpAddr;

use plimsoll_shoal::address::may_be_public;
use plimsoll_shoal::heartbeat::{
    Echo, Goodbye, Heartbeat, Kind, MAX_BYTES, Number, Refusal, Upstream, goodbye_body, parse,
    parse_goodbye,
};
use plimsoll_testing::shared;
use proptest::option::of;
use proptest::prelude::*;

use crate::mutants::recorded_bodies_for;

/// A heartbeat of the required fields with these changed or added; an empty value takes one away.
fn with(changes: &[(&str, &str)]) -> String {
    let mut fields = vec![
        ("uuid", r#""0a1b""#),
        ("hostname", r#""a.example""#),
        ("cache_port", "3128"),
        ("public_ip", r#""192.0.2.1""#),
        ("timestamp", "1795161784.5"),
        ("load", "12.5"),
    ];
    for change in changes {
        fields.retain(|field| field.0 != change.0);
        fields.push(*change);
    }
    fields.retain(|field| !field.1.is_empty());
    let fields: Vec<_> = fields.iter().map(|(name, json)| format!("\"{name}\": {json}")).collect();
    format!("{{{}}}", fields.join(", "))
}

fn believed(changes: &[(&str, &str)]) -> Heartbeat {
    parse(with(changes).as_bytes()).unwrap()
}

fn refused(changes: &[(&str, &str)]) -> Refusal {
    parse(with(changes).as_bytes()).unwrap_err()
}

#[test]
fn recorded_heartbeats_are_understood_and_written_the_same() {
    let test = "recorded_heartbeats_are_understood_and_written_the_same";
    for body in recorded_bodies_for(test) {
        let beat = parse(body.as_bytes()).unwrap();
        assert_eq!((beat.port.value, &*beat.port.text), (3128, "3128"));
        assert_eq!((beat.kind, beat.upstream), (Kind::Squid, Upstream::Both));
        assert_eq!(beat.max_load.as_ref().unwrap().text, "1125000".into());
        assert!(matches!(beat.load, Number::Float(_)));
        // The current agent's to the letter; released ones call the port otherwise.
        if body.contains("cache_port") {
            assert_eq!(beat.to_json(), body);
        }
    }
}

/// What was published to the original beside its agents; two of them it discards or dies of.
#[test]
fn published_heartbeats_are_understood() {
    let file = "reference/shoal-fixtures/synthetic_heartbeats_sent.json";
    let Some(path) = shared("published_heartbeats_are_understood", file) else { return };
    let cases: Vec<serde_json::Value> =
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(cases.len(), 10);
    for case in &cases {
        let body = case["body"].to_string();
        match (case["case"].as_str().unwrap(), parse(body.as_bytes())) {
            ("missing_load", refusal) => assert_eq!(refusal, Err(Refusal::Missing("load"))),
            ("string_load", refusal) => {
                assert_eq!(refusal, Err(Refusal::Type("load", "a number")));
            }
            ("squid_string_port_and_maxload", beat) => {
                let beat = beat.unwrap();
                assert_eq!((beat.port.value, &*beat.port.text), (3128, "\"3128\""));
                let most = beat.max_load.unwrap();
                assert_eq!((most.value, &*most.text), (250_000.0, "\"250000\""));
            }
            ("varnish_cvmfs", beat) => {
                let beat = beat.unwrap();
                assert_eq!((beat.kind, beat.upstream), (Kind::Varnish, Upstream::Cvmfs));
                assert_eq!(beat.load, Number::Int(7));
                assert_eq!(beat.address(), Some("129.215.5.4".parse().unwrap()));
            }
            (name, beat) => assert!(beat.is_ok(), "{name}: {beat:?}"),
        }
    }
}

#[test]
fn what_is_not_said_has_its_default() {
    let beat = believed(&[]);
    assert_eq!((beat.kind, beat.upstream, beat.verified), (Kind::Squid, Upstream::Both, false));
    assert_eq!(
        (beat.max_load, beat.interval_s, beat.cloud, beat.version),
        (None, None, None, None)
    );
    let absent = ["max_load", "interval", "cloud", "version", "latitude", "verified", "cache_type"];
    let nulls: Vec<_> = absent.iter().map(|name| (*name, "null")).collect();
    assert_eq!(believed(&nulls), believed(&[]));
    let empty = [("cloud", "\"\""), ("private_ip", "\"\""), ("max_load", "\"\"")];
    assert_eq!(believed(&empty), believed(&[]));
}

#[test]
fn ports_are_echoed_as_they_came() {
    for (changes, value, text) in [
        (&[("cache_port", "1")][..], 1, "1"),
        (&[("cache_port", "\"65535\"")], 65535, "\"65535\""),
        (&[("cache_port", "\"03128\"")], 3128, "\"03128\""),
        (&[("cache_port", ""), ("squid_port", "\"80\"")], 80, "\"80\""),
        (&[("cache_port", "null"), ("squid_port", "80")], 80, "80"),
        // As the original: the newer name wins, whatever the other one says.
        (&[("squid_port", "1"), ("cache_port", "2")], 2, "2"),
        (&[("cache_port", "2"), ("squid_port", "[]")], 2, "2"),
    ] {
        assert_eq!(believed(changes).port, Echo { value, text: text.into() });
    }
}

#[test]
fn addresses_are_normal() {
    for (text, address) in [
        ("\"192.0.2.7\"", "192.0.2.7"),
        ("\"::ffff:192.0.2.7\"", "192.0.2.7"),
        ("\"::FFFF:c000:207\"", "192.0.2.7"),
        ("\"2001:DB8::0:7\"", "2001:db8::7"),
    ] {
        let address: IpAddr = address.parse().unwrap();
        assert_eq!(believed(&[("public_ip", text)]).public_ip, Some(address));
        let external = believed(&[("public_ip", ""), ("external_ip", text)]);
        assert_eq!((external.public_ip, external.address()), (None, Some(address)));
    }
    let private = believed(&[("public_ip", ""), ("private_ip", "\"10.0.0.1\"")]);
    assert_eq!(private.address(), None);
}

/// Every field, wrong in every way that has a reason of its own. Of the two words without quotes,
/// the one is longer than a name may be, the other than a host's name.
const OUT_OF_BOUNDS: [(&str, &str); 64] = [
    ("uuid", "\"\""),
    ("uuid", "LONG"),
    ("uuid", "\"a_b\""),
    ("uuid", "\"a b\""),
    ("hostname", "\"\""),
    ("hostname", "LONGER"),
    ("hostname", "\"a.example:80\""),
    ("hostname", "\"a\\\"; alert(1)\""),
    ("hostname", "\"a;b\""),
    ("hostname", "\"\\u00fc.example\""),
    ("hostname", "\"a\\n\""),
    ("cache_port", "0"),
    ("cache_port", "65536"),
    ("cache_port", "-1"),
    ("cache_port", "\"\""),
    ("cache_port", "\"+80\""),
    ("cache_port", "\" 80\""),
    ("cache_port", "\"0\""),
    ("cache_port", "\"65536\""),
    ("cache_port", "\"003128\""),
    ("cache_port", "\"\\u0663\""),
    ("public_ip", "\"192.0.2\""),
    ("public_ip", "\"127.0.0.1\""),
    ("public_ip", "\"0.0.0.0\""),
    ("public_ip", "\"fe80::1\""),
    ("external_ip", "\"224.0.0.1\""),
    ("external_ip", "\"::ffff:127.0.0.1\""),
    ("public_ip", "\"192.0.2.1/24\""),
    ("public_ip", "\"192.0.2.1;id\""),
    ("public_ip", "\"192.0.2.01\""),
    ("private_ip", "\"fe80::1%eth0\""),
    ("external_ip", "\"a.example\""),
    ("cache_type", "\"Squid\""),
    ("cache_type", "\"\""),
    ("upstream", "\"all\""),
    ("timestamp", "-1"),
    ("timestamp", "1795161784000"),
    ("timestamp", "1e300"),
    ("load", "-1"),
    ("load", "-0.0"),
    ("load", "-0"),
    ("load", "-0.001"),
    ("load", "1000000001"),
    ("load", "1000000000.1"),
    ("load", "1e308"),
    ("load", "340282366920938463463374607431768211456"),
    ("max_load", "-1"),
    ("max_load", "-0.0"),
    ("max_load", "1e13"),
    ("max_load", "\"1 Gbit\""),
    ("max_load", "\"inf\""),
    ("max_load", "\"nan\""),
    ("max_load", "\"-1\""),
    ("max_load", "\"1e400\""),
    ("max_load", "\"1+2\""),
    ("max_load", "\"000000000000000000000000000000001\""),
    ("interval", "0.5"),
    ("interval", "3601"),
    ("cloud", "\"a b\""),
    ("cloud", "LONG"),
    ("version", "LONG"),
    ("version", "\"1\\t2\""),
    ("latitude", "90.5"),
    ("longitude", "-180.5"),
];

#[test]
fn fields_out_of_bounds_are_refused() {
    let long = |length: usize| format!("\"{}\"", "a".repeat(length));
    let (long_name, long_host) = (long(65), long(254));
    for (field, value) in OUT_OF_BOUNDS {
        let value = match value {
            "LONG" => &*long_name,
            "LONGER" => &*long_host,
            value => value,
        };
        let change = (field, value);
        let refusal = refused(&[change]);
        let is_named = match &refusal {
            Refusal::Range(name, _) => *name == change.0,
            // A name is told with what may not stand in it.
            Refusal::Character(name, odd) => *name == change.0 && !odd.is_ascii_alphanumeric(),
            _ => false,
        };
        assert!(is_named, "{change:?}: {refusal}");
    }
}

#[test]
fn fields_of_other_types_are_refused() {
    let (flag, text, number) = (["1", "\"true\""], ["1", "true"], ["\"12\"", "true"]);
    for (names, wrong) in [
        (&["verified"][..], flag),
        (&["uuid", "hostname", "public_ip", "private_ip", "external_ip"], text),
        (&["cache_type", "upstream", "cloud", "version"], text),
        (&["timestamp", "load", "interval", "latitude", "longitude"], number),
        (&["cache_port", "max_load"], ["true", "false"]),
        (&["cache_port"], ["3128.0", "1e3"]),
    ] {
        for (name, json) in names.iter().flat_map(|name| wrong.map(|json| (*name, json))) {
            for json in [json, "[]", "{}", "[1]"] {
                let refusal = refused(&[(name, json)]);
                assert!(
                    matches!(refusal, Refusal::Type(field, _) if field == name),
                    "{name} {json}"
                );
            }
        }
    }
}

#[test]
fn what_every_heartbeat_has_is_required() {
    for (name, told) in [
        ("uuid", "uuid"),
        ("hostname", "hostname"),
        ("cache_port", "cache_port"),
        ("public_ip", "public_ip"),
        ("timestamp", "timestamp"),
        ("load", "load"),
    ] {
        for nothing in ["", "null"] {
            assert_eq!(refused(&[(name, nothing)]), Refusal::Missing(told));
        }
    }
    assert_eq!(refused(&[("latitude", "1")]), Refusal::Missing("longitude"));
    assert_eq!(refused(&[("longitude", "1")]), Refusal::Missing("latitude"));
}

/// `[]` and an empty body end the original server.
#[test]
fn what_is_no_object_is_malformed() {
    let whole = with(&[]);
    let cut = &whole[..whole.len() - 1];
    let twice = format!("{whole}{whole}");
    let marked = format!("\u{feff}{whole}");
    let texts = ["", " ", "[]", "null", "12", "\"x\"", "{", "{]", "NaN", cut, &twice, &marked];
    for text in texts {
        let refusal = parse(text.as_bytes()).unwrap_err();
        assert_eq!(refusal.reason(), "malformed", "{text}");
    }
    for json in ["NaN", "Infinity", "-Infinity", "1e400", "01", "1.", "+1", "\"\\ud800\"", "\"\n\""]
    {
        assert_eq!(refused(&[("load", json)]).reason(), "malformed", "{json}");
    }
    let mut bytes = with(&[("hostname", "\"a\"")]).into_bytes();
    let at = bytes.iter().rposition(|byte| *byte == b'a').unwrap();
    bytes[at] = 0xff;
    assert_eq!(parse(&bytes).unwrap_err().reason(), "malformed");
}

#[test]
fn a_name_is_there_once_at_any_level() {
    let whole = with(&[]);
    for twice in [
        r#""load": 1"#,
        r#""load": null"#,
        r#""\u006coad": 1"#,
        r#""x": 1, "x": 1"#,
        r#""x": 1, "y": 2, "\u0078": 1"#,
        r#""x": {"a": 1, "a": 1}"#,
        r#""x": [{"b": {"a": 1, "c": 2, "a": 3}}]"#,
    ] {
        let body = whole.replacen('{', &format!("{{{twice}, "), 1);
        let refusal = parse(body.as_bytes()).unwrap_err();
        assert!(matches!(&refusal, Refusal::Malformed(why) if why.contains("twice")), "{twice}");
    }
    for once in [r#""Load": 1"#, r#""x": {"a": 1}, "y": {"a": 1}"#, r#""x": {"x": {"x": 1}}"#] {
        let body = whole.replacen('{', &format!("{{{once}, "), 1);
        assert_eq!(parse(body.as_bytes()), Ok(believed(&[])));
    }
}

#[test]
fn nesting_and_length_are_bounded() {
    for deepest in ["[[[]]]", "{\"a\": {\"a\": {\"a\": 1}}}", "[{\"a\": []}, [[1]]]"] {
        assert_eq!(believed(&[("x", deepest)]), believed(&[]));
    }
    for deeper in ["[[[[]]]]", "{\"a\": {\"a\": {\"a\": {}}}}", "[{\"a\": [[]]}]"] {
        assert_eq!(refused(&[("x", deeper)]).reason(), "malformed", "{deeper}");
    }
    let deep = "[".repeat(8000);
    assert_eq!(refused(&[("x", &deep)]).reason(), "malformed");

    let fill = |bytes: usize| {
        let empty = with(&[("x", "\"\"")]).len();
        with(&[("x", &format!("\"{}\"", "a".repeat(bytes - empty)))])
    };
    assert_eq!(parse(fill(MAX_BYTES).as_bytes()), Ok(believed(&[])));
    let long = fill(MAX_BYTES + 1);
    assert_eq!(parse(long.as_bytes()), Err(Refusal::TooLong(MAX_BYTES + 1)));
    assert_eq!(parse(&[0xff; 100_000]), Err(Refusal::TooLong(100_000)));
}

#[test]
fn a_goodbye_is_an_object_without_load() {
    let body = goodbye_body("0a1b", 1795161784.5);
    assert_eq!(body, r#"{"uuid": "0a1b", "timestamp": 1795161784.5, "goodbye": true}"#);
    let goodbye = Goodbye { uuid: "0a1b".into(), timestamp: 1795161784.5 };
    assert_eq!((goodbye.to_json(), parse_goodbye(body.as_bytes())), (body.clone(), Ok(goodbye)));
    // Neither is taken for the other, by us or by the original, which wants a load.
    assert_eq!(parse(body.as_bytes()), Err(Refusal::Missing("hostname")));
    for (changed, reason) in [
        (with(&[]), "missing"),
        (with(&[("goodbye", "true")]), "malformed"),
        (body.replace("true", "false"), "range"),
        (body.replace("true", "1"), "type"),
        (body.replace("\"uuid\"", "\"id\""), "missing"),
        (body.replace("0a1b", ""), "range"),
        (body.replace("1795161784.5", "\"yesterday\""), "type"),
        (format!("[{body}]"), "malformed"),
    ] {
        assert_eq!(parse_goodbye(changed.as_bytes()).unwrap_err().reason(), reason, "{changed}");
    }
}

#[test]
fn the_secret_is_not_shown() {
    let beat = believed(&[("uuid", "\"5ecre7\"")]);
    let goodbye = parse_goodbye(goodbye_body("5ecre7", 1.0).as_bytes()).unwrap();
    let shown = format!("{beat:?} {beat:#?} {goodbye:?}");
    assert!(shown.contains("a.example") && !shown.contains("5ecre7"), "{shown}");
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(|bytes| plimsoll_shoal::address::normal(bytes.into())),
    ]
}

fn public() -> impl Strategy<Value = IpAddr> {
    address().prop_filter("an address that others reach", |address| may_be_public(*address))
}

fn port() -> impl Strategy<Value = Echo<u16>> {
    (1..=u16::MAX, any::<bool>()).prop_map(|(value, quoted)| {
        let text = if quoted { format!("\"{value}\"") } else { value.to_string() };
        Echo { value, text: text.into() }
    })
}

fn max_load() -> impl Strategy<Value = Echo<f64>> {
    prop_oneof![
        (0..1_000_000_000_u32)
            .prop_map(|n| Echo { value: f64::from(n), text: n.to_string().into() }),
        (0.0..1e12_f64).prop_map(|x| Echo { value: x, text: Number::Float(x).to_string().into() }),
        (0.0..1e12_f64).prop_map(|x| Echo { value: x, text: format!("\"{x}\"").into() }),
    ]
}

prop_compose! {
    fn heartbeat()(
        uuid in "[A-Za-z0-9-]{1,64}",
        hostname in "[A-Za-z0-9.-]{1,253}",
        (port, max_load) in (port(), of(max_load())),
        kind in prop_oneof![Just(Kind::Squid), Just(Kind::Varnish)],
        upstream in
            prop_oneof![Just(Upstream::Both), Just(Upstream::Cvmfs), Just(Upstream::Frontier)],
        (public_ip, private_ip, external_ip) in (public(), of(address()), of(public())),
        (timestamp, interval_s) in (0.0..2.5e11_f64, of(1.0..3600.0_f64)),
        load in prop_oneof![
            (0..=1_000_000_000_u64).prop_map(Number::Int),
            (0.0..=1e9_f64).prop_map(Number::Float),
        ],
        verified in any::<bool>(),
        (cloud, version) in (of("[A-Za-z0-9._-]{1,64}"), of("[ -~]{1,64}")),
        coordinates in of((-90.0..=90.0_f64, -180.0..=180.0_f64)),
    ) -> Heartbeat {
        Heartbeat {
            uuid: uuid.into(),
            hostname: hostname.into(),
            port,
            kind,
            upstream,
            public_ip: Some(public_ip),
            private_ip,
            external_ip,
            timestamp,
            load,
            max_load,
            verified,
            interval_s,
            cloud: cloud.map(Into::into),
            version: version.map(Into::into),
            coordinates,
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_it_was(beat in heartbeat()) {
        let json = beat.to_json();
        prop_assert!(json.is_ascii());
        prop_assert_eq!(parse(json.as_bytes()), Ok(beat));
    }

    #[test]
    fn any_bytes_end_in_an_answer(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(parse(&body).is_err());
        prop_assert!(parse_goodbye(&body).is_err());
    }
}
