//! Security rule 5, clause by clause, without a network: who may be asked, for what, and what
//! passes for an answer.

use std::net::IpAddr;

use ipnet::IpNet;
use plimsoll_net::url::Url;
use plimsoll_shoal::heartbeat::Kind;
use plimsoll_shoal::verify::{
    ANSWER_BYTES, Aim, Allowed, AllowedError, NotAllowed, Object, ObjectError, Outcome, PORTS,
    Weight, judge,
};
use proptest::prelude::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn nets(list: &[&str]) -> Vec<IpNet> {
    list.iter().map(|net| net.parse().unwrap()).collect()
}

fn object() -> Object {
    let url = Url::parse("http://stratum.example/cvmfs/some.repo/.cvmfswhitelist").unwrap();
    Object::new(url, None).unwrap()
}

const BODY: &str = "20261122090000\nE20261222090000\nNsome.repo\nAA:BB\n";

#[test]
fn only_globally_routable_addresses_are_asked() {
    let allowed = Allowed::new(Vec::new(), PORTS.to_vec()).unwrap();
    for address in [
        // A host's own, private, shared, link-local and with it metadata.
        "127.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "169.254.0.1",
        "168.63.129.16",
        // Documentation, benchmarking, protocols, multicast, reserved, broadcast.
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "198.18.0.1",
        "192.0.0.192",
        "192.88.99.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        // The same by IPv6, and what carries an address of IPv4: mapped, compatible, NAT64, 6to4,
        // Teredo.
        "::1",
        "::",
        "fe80::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fc00::1",
        "2001:db8::1",
        "3fff::1",
        "ff02::1",
        "::ffff:8.8.8.8",
        "::ffff:169.254.169.254",
        "::8.8.8.8",
        "64:ff9b::8.8.8.8",
        "64:ff9b:1::1",
        "2002:808:808::1",
        "2001:0:808:808::1",
        "fec0::1",
        "100::1",
        "5f00::1",
    ] {
        assert_eq!(allowed.check(ip(address), 3128), Err(NotAllowed::Address), "{address}");
    }
    for address in ["8.8.8.8", "142.104.6.10", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"] {
        assert_eq!(allowed.check(ip(address), 3128), Ok(()), "{address}");
    }
}

#[test]
fn private_addresses_are_asked_where_they_are_named_and_metadata_never() {
    let named = nets(&["10.9.0.0/16", "fd00::/8", "100.64.0.0/10", "127.0.0.0/8", "::1/128"]);
    let allowed = Allowed::new(named, PORTS.to_vec()).unwrap();
    for address in ["10.9.1.1", "fd00::1", "100.64.0.1", "127.0.0.1", "::1", "8.8.8.8"] {
        assert_eq!(allowed.check(ip(address), 80), Ok(()), "{address}");
    }
    for address in [
        "10.8.0.1",
        "192.168.0.1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "169.254.169.254",
        "::ffff:10.9.1.1",
        "64:ff9b::10.9.1.1",
    ] {
        assert_eq!(allowed.check(ip(address), 80), Err(NotAllowed::Address), "{address}");
    }
    // A network that is not private all over cannot be named.
    for net in [
        "0.0.0.0/0",
        "::/0",
        "169.254.0.0/16",
        "224.0.0.0/4",
        "8.8.8.0/24",
        "10.0.0.0/7",
        "192.0.2.0/24",
        "64:ff9b::/96",
        "fe80::/10",
        "::ffff:0:0/96",
    ] {
        let net: IpNet = net.parse().unwrap();
        let refused = Allowed::new(vec![net], PORTS.to_vec());
        assert_eq!(refused, Err(AllowedError::NotPrivate(net)));
    }
}

#[test]
fn only_the_listed_ports_are_asked() {
    let allowed = Allowed::new(Vec::new(), vec![8000, 3128]).unwrap();
    for port in [0, 22, 25, 80, 443, 3127, 3129, 6082, 8080, 65535] {
        assert_eq!(allowed.check(ip("8.8.8.8"), port), Err(NotAllowed::Port), "{port}");
    }
    assert_eq!(allowed.check(ip("8.8.8.8"), 3128), Ok(()));
    assert_eq!(allowed.check(ip("8.8.8.8"), 8000), Ok(()));
    assert_eq!(Allowed::new(Vec::new(), vec![3128, 0]), Err(AllowedError::Port));
    assert_eq!(Allowed::new(Vec::new(), Vec::new()), Err(AllowedError::NoPorts));
}

#[test]
fn the_operator_s_url_is_asked_for_and_no_other() {
    let url = "http://stratum.example/cvmfs/some.repo/.cvmfswhitelist";
    let aim = |kind| Aim { address: ip("8.8.8.8"), port: 3128, kind };
    let object = object();
    let text = |kind| String::from_utf8(object.request(aim(kind)).to_vec()).unwrap();
    let proxy = text(Kind::Squid);
    assert!(proxy.starts_with(&format!("GET {url} HTTP/1.1\r\nHost: stratum.example\r\n")));
    let reverse = text(Kind::Varnish);
    let path = "/cvmfs/some.repo/.cvmfswhitelist";
    assert!(reverse.starts_with(&format!("GET {path} HTTP/1.1\r\nHost: stratum.example\r\n")));
    for request in [proxy, reverse] {
        assert!(request.ends_with("\r\n\r\n") && !request.contains("8.8.8.8"), "{request}");
    }
    // An object must be known by something, and be visible to a cache.
    let any = || Url::parse("http://stratum.example/file").unwrap();
    assert!(matches!(Object::new(any(), None), Err(ObjectError::Unknown)));
    assert!(matches!(Object::new(any(), Some(String::new())), Err(ObjectError::Unknown)));
    assert!(Object::new(any(), Some("text".to_owned())).is_ok());
    let secret = Url::parse("https://stratum.example/file").unwrap();
    assert!(matches!(Object::new(secret, Some("t".to_owned())), Err(ObjectError::Encrypted)));
}

fn with_length(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn only_the_object_passes() {
    let object = object();
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(ANSWER_BYTES));
    let heads = format!("HTTP/1.1 200 OK\r\n{}", "A: b\r\n".repeat(ANSWER_BYTES));
    let huge = with_length("200 OK", &BODY.repeat(100));
    let cut = |text: &str| text[..ANSWER_BYTES].to_owned();
    let chunked = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{BODY}\r\n0\r\n\r\n",
        BODY.len()
    );
    let to = "Location: http://169.254.169.254/\r\nContent-Length: 0";
    let moved = format!("HTTP/1.1 302 Found\r\n{to}\r\n\r\n");
    for (answer, outcome) in [
        (with_length("200 OK", BODY), Some(Outcome::Good)),
        (chunked, Some(Outcome::Good)),
        (with_length("200 OK", "<html>Log in to the hotel's network</html>"), Some(Outcome::Body)),
        (with_length("200 OK", "Nother.repo\n"), Some(Outcome::Body)),
        (with_length("200 OK", ""), Some(Outcome::Body)),
        (with_length("403 Forbidden", BODY), Some(Outcome::Status)),
        (with_length("407 Proxy Authentication Required", ""), Some(Outcome::Status)),
        (with_length("206 Partial Content", BODY), Some(Outcome::Status)),
        (moved, Some(Outcome::Redirect)),
        (with_length("503 Service Unavailable", "ERR_DNS_FAIL"), Some(Outcome::Gateway)),
        ("SSH-2.0-OpenSSH_9.2\r\n".to_owned(), Some(Outcome::Malformed)),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n".to_owned(), Some(Outcome::Malformed)),
        (cut(&endless), Some(Outcome::Long)),
        (cut(&heads), Some(Outcome::Long)),
        (cut(&huge), Some(Outcome::Long)),
        ("HTTP/1.1 200 OK\r\nContent-Len".to_owned(), None),
        (String::new(), None),
    ] {
        assert_eq!(judge(answer.as_bytes(), false, &object), outcome, "{answer}");
    }
    // At its end, what is not whole was cut off; what needs an end has one.
    let until_the_end = format!("HTTP/1.0 200 OK\r\n\r\n{BODY}");
    assert_eq!(judge(until_the_end.as_bytes(), true, &object), Some(Outcome::Good));
    let half = with_length("200 OK", BODY);
    assert_eq!(judge(&half.as_bytes()[..half.len() - 1], true, &object), Some(Outcome::Closed));
    assert_eq!(judge(b"", true, &object), Some(Outcome::Closed));
    assert_eq!(judge(b"SSH-2.0", true, &object), Some(Outcome::Malformed));
    // With a text, that is what it is known by.
    let url = Url::parse("http://stratum.example/file").unwrap();
    let text = Object::new(url, Some("the text".to_owned())).unwrap();
    let judged = |body| judge(with_length("200 OK", body).as_bytes(), false, &text);
    assert_eq!(judged("here is the text."), Some(Outcome::Good));
    assert_eq!(judged("here is a text."), Some(Outcome::Body));
    assert_eq!(judged(""), Some(Outcome::Body));
}

#[test]
fn outcomes_are_named_once_and_only_the_object_is_good() {
    let mut names: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
        assert_eq!(outcome as usize, index);
        assert_eq!(outcome.weight() == Weight::Good, outcome == Outcome::Good);
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Outcome::ALL.len());
}

proptest! {
    /// Whatever is answered: one that is good holds the object's own line.
    #[test]
    fn what_is_good_has_the_object_in_it(
        bytes in any::<Vec<u8>>(),
        at: prop::sample::Index,
        by: u8,
    ) {
        let object = object();
        prop_assert_ne!(judge(&bytes, true, &object), Some(Outcome::Good));
        let mut answer = with_length("200 OK", BODY).into_bytes();
        let at = at.index(answer.len());
        answer[at] = by;
        if judge(&answer, false, &object) == Some(Outcome::Good) {
            prop_assert!(answer.windows(9).any(|part| part == b"some.repo"));
        }
    }

    /// No address that is asked without being named is private, and none carries another.
    #[test]
    fn addresses_of_ipv6_that_are_asked_are_global_unicast(bytes: [u8; 16]) {
        let allowed = Allowed::new(Vec::new(), PORTS.to_vec()).unwrap();
        if allowed.check(IpAddr::from(bytes), 3128).is_ok() {
            prop_assert_eq!(bytes[0] >> 5, 1);
            prop_assert_ne!((bytes[0], bytes[1]), (0x20, 0x02));
        }
    }
}
