//! Addresses: one form, what is reachable, and whose a request is.

use std::net::IpAddr;

use ipnet::IpNet;
use plimsoll_shoal::address::{
    MAX_HOPS, client_of, globally_routable, is_private, network24, normal,
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

fn client(peer: &str, values: &[&str]) -> IpAddr {
    let trusted = ["10.0.0.0/8", "2001:db8::/32", "127.0.0.1/32"].map(|net| net.parse().unwrap());
    client_of(ip(peer), values, &trusted)
}

#[test]
fn forwarded_for_counts_only_from_trusted_proxies() {
    for (peer, values, meant) in [
        // A stranger may write what it likes.
        ("192.0.2.9", &["198.51.100.1"][..], "192.0.2.9"),
        ("::ffff:192.0.2.9", &["198.51.100.1"], "192.0.2.9"),
        ("10.0.0.1", &[], "10.0.0.1"),
        ("10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
        ("::ffff:10.0.0.1", &["198.51.100.1"], "198.51.100.1"),
        ("2001:db8::1", &["2001:4860::1"], "2001:4860::1"),
        // What the client wrote itself is left of what our proxy saw.
        ("10.0.0.1", &["203.0.113.5, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", &["203.0.113.5,198.51.100.1 ,\t10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", &["203.0.113.5", "198.51.100.1", "10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", &["203.0.113.5, 198.51.100.1", "10.0.0.3, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", &["::ffff:198.51.100.1"], "198.51.100.1"),
        // Proxies only: the first of them is the client.
        ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        // Malformed where it is walked; not beyond.
        ("10.0.0.1", &["198.51.100.1, x"], "10.0.0.1"),
        ("10.0.0.1", &["x, 10.0.0.2"], "10.0.0.1"),
        ("10.0.0.1", &["x, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", &["198.51.100.1,"], "10.0.0.1"),
        ("10.0.0.1", &[""], "10.0.0.1"),
        ("10.0.0.1", &["198.51.100.1:80"], "10.0.0.1"),
        ("10.0.0.1", &["unknown"], "10.0.0.1"),
        ("10.0.0.1", &["198.51.100.1 198.51.100.2"], "10.0.0.1"),
    ] {
        assert_eq!(client(peer, values), ip(meant), "{peer} {values:?}");
    }
}

#[test]
fn hops_are_bounded() {
    let through = |proxies: usize| format!("198.51.100.1{}", ", 10.0.0.2".repeat(proxies));
    assert_eq!(client("10.0.0.1", &[&through(MAX_HOPS - 1)]), ip("198.51.100.1"));
    assert_eq!(client("10.0.0.1", &[&through(MAX_HOPS)]), ip("10.0.0.1"));
    assert_eq!(client("10.0.0.1", &[&through(100_000)]), ip("10.0.0.1"));
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
    fn any_header_has_a_client(value in "[0-9a-f:., x]{0,60}") {
        let found = client("10.0.0.1", &[&value]);
        let hop = |hop: &str| hop.trim().parse().is_ok_and(|hop| normal(hop) == found);
        prop_assert!(found == ip("10.0.0.1") || value.split(',').any(hop));
    }

    #[test]
    fn a_network_holds_its_addresses(bytes: [u8; 16], v4: [u8; 4]) {
        for address in [IpAddr::from(bytes), IpAddr::from(v4)] {
            prop_assert!(network24(address).contains(&normal(address)));
        }
    }
}
