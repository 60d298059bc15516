//! Addresses: one form, what is reachable, and whose a request is.

use std::net::IpAddr;

use ipnet::IpNet;
use plimsoll_shoal::address::{
    MAX_HOPS, Sender, Trail, Unnamed, globally_routable, is_private, may_be_public, network24,
    normal, sender, tells_of_a_proxy,
};
use proptest::prelude::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn ipv4_has_one_form() {
    for (said, meant) in [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::ffff:0.0.0.1", "0.0.0.1"),
        ("::192.0.2.1", "192.0.2.1"),
        ("::", "::"),
        ("::1", "::1"),
        ("::ffff", "::ffff"),
        ("2001:db8::1", "2001:db8::1"),
        ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
        ("::fffe:192.0.2.1", "::fffe:c000:201"),
    ] {
        assert_eq!(normal(ip(said)), ip(meant), "{said}");
    }
}

/// The first and the last address of each special block, and their neighbours outside.
#[test]
fn special_addresses_are_not_routable() {
    for (first, last) in [
        ("0.0.0.0", "0.255.255.255"),
        ("10.0.0.0", "10.255.255.255"),
        ("100.64.0.0", "100.127.255.255"),
        ("127.0.0.0", "127.255.255.255"),
        ("169.254.0.0", "169.254.255.255"),
        ("172.16.0.0", "172.31.255.255"),
        ("192.0.0.0", "192.0.0.255"),
        ("192.0.2.0", "192.0.2.255"),
        ("192.88.99.0", "192.88.99.255"),
        ("192.168.0.0", "192.168.255.255"),
        ("198.18.0.0", "198.19.255.255"),
        ("198.51.100.0", "198.51.100.255"),
        ("203.0.113.0", "203.0.113.255"),
        ("224.0.0.0", "255.255.255.255"),
        ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ] {
        let (first, last) = (ip(first), ip(last));
        assert!(!globally_routable(first) && !globally_routable(last), "{first} to {last}");
        let [before, after] = match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => [
                first.to_bits().checked_sub(1).map(|bits| IpAddr::V4(bits.into())),
                last.to_bits().checked_add(1).map(|bits| IpAddr::V4(bits.into())),
            ],
            (IpAddr::V6(first), IpAddr::V6(last)) => [
                first.to_bits().checked_sub(1).map(|bits| IpAddr::V6(bits.into())),
                last.to_bits().checked_add(1).map(|bits| IpAddr::V6(bits.into())),
            ],
            _ => unreachable!(),
        };
        // Where the next block is special too.
        let joined = ["2001::", "4000::", "224.0.0.0"].map(ip);
        for outside in [before, after].into_iter().flatten() {
            let also = joined.contains(&outside) || outside == ip("3fff:1000::") && last == outside;
            assert!(globally_routable(outside) || also, "{outside} beside {first} to {last}");
        }
    }
}

#[test]
fn ways_around_are_not_routable() {
    for way in [
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::8.8.8.8",
        "169.254.169.254",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "fc00::1",
        "64:ff9b::8.8.8.8",
        "64:ff9b::127.0.0.1",
        "64:ff9b:1::10.0.0.1",
        "2002:7f00:1::",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "100::1",
        "5f00::1",
        "ff02::1",
        "239.255.255.250",
        "255.255.255.255",
    ] {
        assert!(!globally_routable(ip(way)), "{way}");
    }
    for way in ["8.8.8.8", "142.104.6.10", "1.1.1.1", "2001:4860:4860::8888", "2606:4700::1111"] {
        assert!(globally_routable(ip(way)), "{way}");
    }
}

#[test]
fn private_is_private() {
    for private in ["10.0.0.1", "172.31.0.1", "192.168.1.1", "fd12::1", "::ffff:10.0.0.1"] {
        assert!(is_private(ip(private)), "{private}");
    }
    for other in ["172.32.0.1", "100.64.0.1", "127.0.0.1", "8.8.8.8", "2001:db8::1", "fe80::1"] {
        assert!(!is_private(ip(other)), "{other}");
    }
}

#[test]
fn networks_for_limits() {
    for (address, network) in [
        ("192.0.2.77", "192.0.2.0/24"),
        ("::ffff:192.0.2.77", "192.0.2.0/24"),
        ("2001:db8:1:23ff:1::1", "2001:db8:1:2300::/56"),
    ] {
        assert_eq!(network24(ip(address)), network.parse::<IpNet>().unwrap());
    }
}

/// Whom a request is from by `X-Forwarded-For` and `Forwarded`.
fn told(peer: &str, forwarded_for: &[&str], forwarded: &[&str]) -> Sender {
    let ours = ["10.0.0.0/8", "2001:db8::/32", "127.0.0.1/32"].map(|net| net.parse().unwrap());
    let any = !forwarded_for.is_empty() || !forwarded.is_empty();
    sender(ip(peer), Trail { forwarded_for, forwarded, any }, &ours)
}

fn named(address: &str) -> Sender {
    Sender::Named(ip(address))
}

const MALFORMED: Sender = Sender::Stranger(Unnamed::Malformed);
const SILENT: Sender = Sender::Stranger(Unnamed::Silent);
const NOT_OURS: Sender = Sender::Stranger(Unnamed::NotOurs);

#[test]
fn forwarded_for_counts_only_from_trusted_proxies() {
    for (peer, values, meant) in [
        // A stranger may write what it likes: it names nobody, and is not believed to be itself.
        ("192.0.2.9", &["198.51.100.1"][..], NOT_OURS),
        ("::ffff:192.0.2.9", &["198.51.100.1"], NOT_OURS),
        ("192.0.2.9", &[], Sender::Peer),
        ("10.0.0.1", &[], SILENT),
        ("10.0.0.1", &["198.51.100.1"], named("198.51.100.1")),
        ("::ffff:10.0.0.1", &["198.51.100.1"], named("198.51.100.1")),
        ("2001:db8::1", &["2001:4860::1"], named("2001:4860::1")),
        // With a port, with brackets, with both.
        ("10.0.0.1", &["198.51.100.1:80"], named("198.51.100.1")),
        ("10.0.0.1", &["[2001:4860::1]"], named("2001:4860::1")),
        ("10.0.0.1", &["[2001:4860::1]:65535"], named("2001:4860::1")),
        ("10.0.0.1", &["[::ffff:198.51.100.1]:1"], named("198.51.100.1")),
        // What the client wrote itself is left of what our proxy saw.
        ("10.0.0.1", &["203.0.113.5, 198.51.100.1"], named("198.51.100.1")),
        ("10.0.0.1", &["203.0.113.5,198.51.100.1 ,\t10.0.0.2"], named("198.51.100.1")),
        ("10.0.0.1", &["203.0.113.5", "198.51.100.1", "10.0.0.2"], named("198.51.100.1")),
        ("10.0.0.1", &["203.0.113.5, 198.51.100.1", "10.0.0.3:9, 10.0.0.2"], named("198.51.100.1")),
        ("10.0.0.1", &["::ffff:198.51.100.1"], named("198.51.100.1")),
        // Proxies only: the first of them is the client.
        ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], named("10.0.0.3")),
        // Malformed where it is walked; not beyond.
        ("10.0.0.1", &["198.51.100.1, x"], MALFORMED),
        ("10.0.0.1", &["x, 10.0.0.2"], MALFORMED),
        ("10.0.0.1", &["x, 198.51.100.1"], named("198.51.100.1")),
        ("10.0.0.1", &["198.51.100.1,"], MALFORMED),
        ("10.0.0.1", &[""], MALFORMED),
        ("10.0.0.1", &["unknown"], MALFORMED),
        ("10.0.0.1", &["198.51.100.1 198.51.100.2"], MALFORMED),
        ("10.0.0.1", &["\"198.51.100.1\""], MALFORMED),
        ("10.0.0.1", &["198.51.100.1:"], MALFORMED),
        ("10.0.0.1", &["198.51.100.1:123456"], MALFORMED),
        ("10.0.0.1", &["198.51.100.1:+1"], MALFORMED),
        ("10.0.0.1", &["[198.51.100.1]"], MALFORMED),
        ("10.0.0.1", &["[2001:4860::1"], MALFORMED),
        ("10.0.0.1", &["[2001:4860::1]80"], MALFORMED),
        ("10.0.0.1", &["fe80::1%eth0"], MALFORMED),
        // Nobody's address: some host's own, or none.
        ("10.0.0.1", &["127.0.0.1"], MALFORMED),
        ("10.0.0.1", &["127.0.0.2"], MALFORMED),
        ("10.0.0.1", &["198.51.100.1, 127.0.0.1"], named("198.51.100.1")),
        ("10.0.0.1", &["::1"], MALFORMED),
        ("10.0.0.1", &["0.0.0.0"], MALFORMED),
    ] {
        assert_eq!(told(peer, values, &[]), meant, "{peer} {values:?}");
    }
}

#[test]
fn forwarded_is_read_as_its_rfc_says() {
    for (values, meant) in [
        (&["for=198.51.100.1"][..], named("198.51.100.1")),
        (&["For=198.51.100.1;proto=http;by=10.0.0.1"], named("198.51.100.1")),
        (&["proto=https ; FOR=\"198.51.100.1:4711\""], named("198.51.100.1")),
        (&["for=\"[2001:4860::1]:4711\""], named("2001:4860::1")),
        (&["for=\"[2001:4860::1]\""], named("2001:4860::1")),
        (&["for=\"198.51.100.1:_hidden-1\""], named("198.51.100.1")),
        (&["for=\"198\\.51.100.1\""], named("198.51.100.1")),
        (&["for=203.0.113.5, for=198.51.100.1"], named("198.51.100.1")),
        (&["for=203.0.113.5", "for=198.51.100.1;by=x , for=10.0.0.2"], named("198.51.100.1")),
        (&["by=\"a,b;c\";for=198.51.100.1"], named("198.51.100.1")),
        // Hidden, unknown, absent, twice, or not of its form.
        (&["for=\"2001:4860::1\""], MALFORMED),
        (&["for=\"2001:4860::1:4711\""], MALFORMED),
        (&["for=unknown"], MALFORMED),
        (&["for=_hidden"], MALFORMED),
        (&["for=_hidden, for=10.0.0.2"], MALFORMED),
        (&["by=198.51.100.1"], MALFORMED),
        (&["for=198.51.100.1;for=198.51.100.1"], MALFORMED),
        (&["for=\"198.51.100.1"], MALFORMED),
        (&["for=198.51.100.1\""], MALFORMED),
        (&["for"], MALFORMED),
        (&["198.51.100.1"], MALFORMED),
        (&["for=198.51.100.1,"], MALFORMED),
        (&["for=198.51.100.1;"], MALFORMED),
        (&[""], MALFORMED),
    ] {
        assert_eq!(told("10.0.0.1", &[], values), meant, "{values:?}");
    }
    // Where both are there, one may be the client's own: they have to agree.
    let both = |one, two| told("10.0.0.1", &[one], &[two]);
    assert_eq!(both("198.51.100.1:80", "for=198.51.100.1"), named("198.51.100.1"));
    assert_eq!(both("198.51.100.1", "for=203.0.113.5"), MALFORMED);
    assert_eq!(both("198.51.100.1", "for=unknown"), MALFORMED);
    assert_eq!(both("x", "for=198.51.100.1"), MALFORMED);
}

#[test]
fn any_header_of_a_proxy_shows_one() {
    for name in ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-"] {
        assert!(tells_of_a_proxy(name), "{name}");
    }
    for name in ["host", "x-forwarded", "forwarded-for", "user-agent", ""] {
        assert!(!tells_of_a_proxy(name), "{name}");
    }
    let ours = ["10.0.0.0/8".parse().unwrap()];
    let by = |peer| sender(ip(peer), Trail { any: true, ..Trail::default() }, &ours);
    assert_eq!((by("127.0.0.1"), by("10.0.0.1")), (NOT_OURS, SILENT));
}

#[test]
fn public_addresses_are_of_hosts_that_others_reach() {
    for none in [
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "febf::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:0.0.0.0",
        "::ffff:224.0.0.1",
    ] {
        assert!(!may_be_public(ip(none)), "{none}");
    }
    for one in ["10.0.0.1", "192.0.2.1", "223.255.255.255", "2001:db8::1", "fd00::1", "100.64.0.1"]
    {
        assert!(may_be_public(ip(one)), "{one}");
    }
}

#[test]
fn hops_are_bounded() {
    let through = |proxies: usize| format!("198.51.100.1{}", ", 10.0.0.2".repeat(proxies));
    let told = |value: &str| told("10.0.0.1", &[value], &[]);
    assert_eq!(told(&through(MAX_HOPS - 1)), named("198.51.100.1"));
    assert_eq!(told(&through(MAX_HOPS)), MALFORMED);
    assert_eq!(told(&through(100_000)), MALFORMED);
}

proptest! {
    #[test]
    fn normal_is_normal(bytes: [u8; 16], mapped: [u8; 4]) {
        let address = normal(bytes.into());
        prop_assert_eq!(normal(address), address);
        let v4 = IpAddr::from(mapped);
        let IpAddr::V4(plain) = v4 else { unreachable!() };
        prop_assert_eq!(normal(plain.to_ipv6_mapped().into()), v4);
    }

    #[test]
    fn whom_a_header_names_stands_in_it(
        value in "[0-9a-f:., x\\[\\]\"]{0,60}",
        element in "(for=|by=|[0-9a-f:., x\\[\\]\";=]){0,40}",
    ) {
        let stands = |text: &str, address: IpAddr| {
            let parts = text.split([',', ' ', '=', '"', ';', '[', ']']);
            let with_port = |part: &'_ str| part.rsplit_once(':').map(|(host, _)| host.to_owned());
            let mut hosts = parts.flat_map(|part| [Some(part.to_owned()), with_port(part)]);
            hosts.any(|host| host.and_then(|host| host.parse().ok()).map(normal) == Some(address))
        };
        for (header, found) in [
            (&value, told("10.0.0.1", &[&value], &[])),
            (&element, told("10.0.0.1", &[], &[&element])),
        ] {
            if let Sender::Named(address) = found {
                prop_assert!(stands(header, address), "{header}");
            }
            prop_assert!(found != Sender::Peer && found != NOT_OURS);
        }
    }

    #[test]
    fn a_network_holds_its_addresses(bytes: [u8; 16], v4: [u8; 4]) {
        for address in [IpAddr::from(bytes), IpAddr::from(v4)] {
            prop_assert!(network24(address).contains(&normal(address)));
        }
    }
}
