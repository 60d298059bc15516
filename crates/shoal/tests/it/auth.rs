//! Signed announcements: what is signed is believed once, near its time, within its key's scope.

use plimsoll_shoal::auth::{
    HEADERS, KEY_HEADER, KeyUse, Keys, LastSeen, LineFault, Signature, WINDOW_MS,
};
use plimsoll_shoal::heartbeat::{Heartbeat, Refusal, parse};
use proptest::prelude::*;

const KEYS: &str = "
# a comment
site-a 000102030405060708090a0b0c0d0e0f

site_b   correct-horse-battery-staple clouds=east,west networks=192.0.2.0/24,2001:db8::/32
site.c 0123456789abcdef0123456789ABCDEF networks=10.0.0.0/8,198.51.100.7
";
const NOW: i64 = 1_795_161_784_395;
const BODY: &[u8] = br#"{"uuid": "u"}"#;

fn keys() -> Keys {
    Keys::read(KEYS).unwrap()
}

fn sign(key: &str, body: &[u8], unix_ms: i64) -> Signature {
    keys().get(key).unwrap().sign(body, unix_ms)
}

/// What Python's `hmac` makes of key 00..0f and `site-a\n1795161784395\n{"uuid": "u"}`.
#[test]
fn the_signature_is_hmac_sha256() {
    let known = "9ec0728af581d199f93c64905b194078afd5c3aec696f58b6d81758ed3dba62b";
    let signature = sign("site-a", BODY, NOW);
    let [key, time, mac] = signature.headers();
    assert_eq!(key, (KEY_HEADER, "site-a".into()));
    assert_eq!((time.1.as_str(), mac.1.as_str()), ("1795161784395", known));
    assert_eq!([key.0, time.0, mac.0], HEADERS);
    let again = Signature::from_values(Some("site-a"), Some(&time.1), Some(&known.to_uppercase()));
    assert_eq!(again, Ok(Some(signature)));
}

/// Likewise for secrets of a block of the digest and longer.
#[test]
fn secrets_may_be_long() {
    for (bytes, known) in [
        (64, "7163daec028d9408434685b1f5ee1f0b5e3d5e85653d3515f743a93ffbb7d41f"),
        (65, "b4a94391f6c74444c43397b1271ccea96b8cd7a2038896f5998f9512928d5560"),
        (131, "07761f5985b33c7326fe11b944cd0eec14d40332a198ac06d78ff86e1dc067ce"),
    ] {
        let keys = Keys::read(&format!("long {}", "aa".repeat(bytes))).unwrap();
        let [_, _, mac] = keys.get("long").unwrap().sign(BODY, NOW).headers();
        assert_eq!(mac.1, known, "{bytes}");
    }
}

#[test]
fn what_a_key_signed_is_believed_near_its_time() {
    let window = i64::try_from(WINDOW_MS).unwrap();
    for key in ["site-a", "site_b", "site.c"] {
        for late in [0, 1, -1, window, -window] {
            let signed = keys().verify(&sign(key, BODY, NOW), BODY, NOW + late).unwrap();
            assert_eq!((signed.key.id(), signed.unix_ms), (key, NOW));
        }
        for late in [window + 1, -window - 1, i64::MAX - NOW, i64::MIN] {
            let refusal = keys().verify(&sign(key, BODY, NOW), BODY, NOW.saturating_add(late));
            assert_eq!(refusal.unwrap_err(), Refusal::Signature("made more than 120 s from now"));
        }
    }
}

#[test]
fn what_was_changed_is_not_believed() {
    let whole = sign("site-a", BODY, NOW);
    let wrong = Refusal::Signature("not made by a key known here");
    let verify = |signature: &Signature, body: &[u8]| keys().verify(signature, body, NOW);
    assert!(verify(&whole, BODY).is_ok());
    assert_eq!(verify(&whole, br#"{"uuid": "v"}"#).unwrap_err(), wrong);
    assert_eq!(verify(&whole, b"").unwrap_err(), wrong);
    let later = Signature { unix_ms: NOW + 1, ..whole.clone() };
    assert_eq!(verify(&later, BODY).unwrap_err(), wrong);
    for other in ["site_b", "nobody", "", "site-"] {
        let renamed = Signature { key_id: other.into(), ..whole.clone() };
        assert_eq!(verify(&renamed, BODY).unwrap_err(), wrong);
    }
    for bit in 0..256 {
        let mut flipped = whole.clone();
        flipped.mac[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(verify(&flipped, BODY).unwrap_err(), wrong);
    }
    // The key that unknown names are tried with is known to everybody; it opens nothing.
    let zeros = Keys::read(&format!("nobody {}", "00".repeat(32))).unwrap();
    let forged = zeros.get("nobody").unwrap().sign(BODY, NOW);
    assert_eq!(verify(&forged, BODY).unwrap_err(), wrong);
    assert!(zeros.verify(&forged, BODY, NOW).is_ok());
}

#[test]
fn headers_are_all_there_or_none() {
    let mac = "ab".repeat(32);
    let of = |key, time, mac| Signature::from_values(key, time, mac);
    assert_eq!(of(None, None, None), Ok(None));
    let good = of(Some("k"), Some("12"), Some(&mac)).unwrap().unwrap();
    assert_eq!((good.unix_ms, good.mac), (12, [0xab; 32]));
    let (short, odd, other) = ("ab".repeat(31), format!("{mac}a"), "xy".repeat(32));
    let long = "k".repeat(65);
    for (key, time, mac) in [
        (None, Some("12"), Some(&mac)),
        (Some("k"), None, Some(&mac)),
        (Some("k"), Some("12"), None),
        (Some(""), Some("12"), Some(&mac)),
        (Some("k\n1"), Some("12"), Some(&mac)),
        (Some(&long), Some("12"), Some(&mac)),
        (Some("k"), Some(""), Some(&mac)),
        (Some("k"), Some("+12"), Some(&mac)),
        (Some("k"), Some("-12"), Some(&mac)),
        (Some("k"), Some("1.5"), Some(&mac)),
        (Some("k"), Some("9223372036854775808"), Some(&mac)),
        (Some("k"), Some("12"), Some(&short)),
        (Some("k"), Some("12"), Some(&odd)),
        (Some("k"), Some("12"), Some(&other)),
    ] {
        let refusal = of(key, time, mac.map(String::as_str)).unwrap_err();
        assert_eq!(refusal.reason(), "signature", "{key:?} {time:?} {mac:?}");
    }
}

#[test]
fn faults_of_a_key_file_have_their_line() {
    let secret = "0".repeat(32);
    for (line, fault) in [
        ("a/b SECRET".into(), LineFault::Name),
        ("a".into(), LineFault::NoSecret),
        ("a short".into(), LineFault::ShortSecret(5)),
        ("a 0011223344556677".into(), LineFault::ShortSecret(8)),
        (format!("site-a {secret}"), LineFault::Twice("site-a".into())),
        (format!("a {secret} cloud=x"), LineFault::Scope),
        (format!("a {secret} x"), LineFault::Scope),
        (format!("a {secret} clouds=x clouds=y"), LineFault::Scope),
        (format!("a {secret} clouds="), LineFault::Cloud("".into())),
        (format!("a {secret} clouds=x,,y"), LineFault::Cloud("".into())),
        (format!("a {secret} networks="), LineFault::Network("".into())),
        (format!("a {secret} networks=10.0.0.0/33"), LineFault::Network("10.0.0.0/33".into())),
    ] {
        let error = Keys::read(&format!("{KEYS}\n{line}\nb {secret}")).unwrap_err();
        assert_eq!((error.line, &error.fault), (8, &fault), "{line}");
        assert!(error.to_string().starts_with("line 8: ") && !error.to_string().contains(&secret));
    }
    assert_eq!(
        keys().iter().map(|key| key.id()).collect::<Vec<_>>(),
        ["site-a", "site.c", "site_b"]
    );
    assert_eq!(Keys::read("").unwrap().iter().count(), 0);
}

#[test]
fn secrets_are_not_shown() {
    let keys = keys();
    let used = keys.verify(&sign("site_b", BODY, NOW), BODY, NOW).unwrap();
    let shown = format!("{keys:?} {keys:#?} {used:?}");
    assert!(shown.contains("site_b") && shown.contains("east"));
    for secret in ["correct-horse", "00010203", "0123456789abcdef", "[0, 1, 2, 3"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

fn beat(fields: &str) -> Heartbeat {
    let body = format!(
        r#"{{"uuid": "u", "hostname": "h", "cache_port": 1, "timestamp": 1, "load": 0, {fields}}}"#
    );
    parse(body.as_bytes()).unwrap()
}

#[test]
fn a_key_speaks_for_its_clouds_and_networks() {
    let used = |key: &str| KeyUse { key: keys().get(key).unwrap().clone(), unix_ms: NOW };
    let cloud = Err(Refusal::KeyScope("this cloud"));
    let network = Err(Refusal::KeyScope("this network"));
    for (key, fields, answer) in [
        ("site-a", r#""public_ip": "203.0.113.1""#, Ok(())),
        ("site_b", r#""public_ip": "192.0.2.1", "cloud": "east""#, Ok(())),
        ("site_b", r#""public_ip": "2001:db8::1", "cloud": "west""#, Ok(())),
        ("site_b", r#""public_ip": "192.0.2.1", "cloud": "north""#, cloud.clone()),
        ("site_b", r#""public_ip": "192.0.2.1""#, cloud),
        ("site_b", r#""public_ip": "192.0.3.1", "cloud": "east""#, network.clone()),
        // Every address by which others would reach it, and a private one if it is all there is.
        ("site.c", r#""public_ip": "198.51.100.7", "external_ip": "8.8.8.8""#, network.clone()),
        ("site.c", r#""public_ip": "198.51.100.8""#, network.clone()),
        ("site.c", r#""external_ip": "::ffff:198.51.100.7", "private_ip": "172.16.0.1""#, Ok(())),
        ("site.c", r#""private_ip": "10.1.2.3""#, Ok(())),
        ("site.c", r#""private_ip": "172.16.0.1""#, network),
    ] {
        assert_eq!(used(key).may_announce(&beat(fields)), answer, "{key} {fields}");
    }
}

#[test]
fn each_message_is_newer_than_the_last() {
    let mut seen = LastSeen::new(100);
    let old = Err(Refusal::Signature("not newer than the last one"));
    assert_eq!(seen.note("a", "u", NOW, NOW), Ok(()));
    assert_eq!(seen.note("a", "u", NOW, NOW), old);
    assert_eq!(seen.note("a", "u", NOW - 1, NOW), old);
    // Another key and another uuid have their own times; names do not run into one another.
    assert_eq!(seen.note("b", "u", NOW, NOW), Ok(()));
    assert_eq!(seen.note("a", "v", NOW - 5, NOW), Ok(()));
    assert_eq!(seen.note("a", "uv", NOW, NOW), Ok(()));
    assert_eq!(seen.note("au", "v", NOW, NOW), Ok(()));
    assert_eq!(seen.note("a", "u", NOW + 1, NOW), Ok(()));
    assert_eq!(seen.note("a", "u", NOW, NOW), old);
    assert_eq!(seen.len(), 5);
}

/// What is forgotten could not pass by its time any more; what could is not forgotten.
#[test]
fn nothing_passes_twice() {
    let window = i64::try_from(WINDOW_MS).unwrap();
    let mut seen = LastSeen::new(1_000_000);
    let mut passed = Vec::new();
    let mut random = plimsoll_workload::random::Stream::named(1, "times");
    let mut now = NOW;
    for n in 0..3000 {
        now += i64::try_from(random.below(2000)).unwrap();
        let unix_ms = now - window + i64::try_from(random.below(2 * WINDOW_MS + 1)).unwrap();
        let uuid = n.to_string();
        assert_eq!(seen.note("k", &uuid, unix_ms, now), Ok(()));
        passed.push((uuid, unix_ms));
        // Whatever still is within its window is known.
        let (uuid, unix_ms) = &passed[usize::try_from(random.below(passed.len() as u64)).unwrap()];
        if now.abs_diff(*unix_ms) <= WINDOW_MS {
            assert!(seen.note("k", uuid, *unix_ms, now).is_err());
        }
    }
    // 480 s of messages, one a second, and no more.
    assert!(seen.len() < 600, "{}", seen.len());
}

#[test]
fn memory_is_bounded() {
    let mut seen = LastSeen::new(10);
    for n in 0..10 {
        assert_eq!(seen.note("k", &n.to_string(), NOW, NOW), Ok(()));
    }
    assert_eq!(seen.note("k", "new", NOW, NOW), Err(Refusal::Full));
    // Those that are known go on; others find room when they are gone.
    assert_eq!(seen.note("k", "3", NOW + 1, NOW), Ok(()));
    let later = NOW + 500_000;
    for n in 0..3 {
        assert_eq!(seen.note("k", "3", later + n * 250_000, later + n * 250_000), Ok(()));
    }
    assert_eq!(seen.len(), 1);
    // A clock that was set back forgets too, at last.
    for n in 0..9 {
        assert_eq!(seen.note("k", &format!("{n}b"), later, later + 500_000), Ok(()));
    }
    assert_eq!(seen.note("k", "new", NOW, later + 500_000), Err(Refusal::Full));
    assert!(seen.note("k", "new", NOW, NOW).is_err());
    assert_eq!(seen.note("k", "new", NOW, NOW + 250_000), Ok(()));
}

proptest! {
    #[test]
    fn any_body_is_signed_and_verified(body: Vec<u8>, unix_ms in 0..i64::MAX, other: Vec<u8>) {
        let signature = sign("site_b", &body, unix_ms);
        prop_assert!(keys().verify(&signature, &body, unix_ms).is_ok());
        prop_assert_eq!(keys().verify(&signature, &other, unix_ms).is_ok(), body == other);
        let [key, time, mac] = signature.headers();
        let again = Signature::from_values(Some(&key.1), Some(&time.1), Some(&mac.1));
        prop_assert_eq!(again, Ok(Some(signature)));
    }

    #[test]
    fn any_text_is_keys_or_a_fault(text in "([a-z#=,./0-9 ]{0,40}\n){0,4}", binary: String) {
        for text in [text, binary] {
            if let Err(error) = Keys::read(&text) {
                prop_assert!((1..=text.lines().count()).contains(&error.line));
            }
        }
    }
}
