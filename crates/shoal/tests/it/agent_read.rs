//! What an agent reads of its host, from recorded texts below a root of the tests.

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use plimsoll_shoal::Now;
use plimsoll_shoal::agent::addresses::{
    Addresses, choose, host_name, is_private, local_ipv6, of_interfaces, way_out,
};
use plimsoll_shoal::agent::cache::{Cache, find, varnish_listener};
use plimsoll_shoal::agent::load::{
    Meter, Processors, capacity, connections, default_interface, ipv6_route_interface, sent_bytes,
};
use plimsoll_shoal::agent::outlook::Outlook;
use plimsoll_shoal::agent::{Options, Reporter, squid, uuid};
use plimsoll_shoal::heartbeat::Kind;
use proptest::prelude::*;

const S: u64 = 1_000_000_000;

fn host() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/host")
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn the_default_route_of_least_metric_that_is_up_names_the_interface() {
    assert_eq!(default_interface(&host()).as_deref(), Some("ens3"));
    let text = fs::read_to_string(host().join("proc/net/ipv6_route")).unwrap();
    assert_eq!(ipv6_route_interface(&text).as_deref(), Some("ens6"));
    assert_eq!(default_interface(Path::new("/nowhere")), None);
    assert_eq!(sent_bytes(&host(), "ens3"), Some(123_456_789));
    // 10 Gbit/s as Shoal's agent counts it: the recorded 1,125,000.
    assert_eq!(capacity(&host(), "ens3"), Some(1_125_000));
    assert_eq!((sent_bytes(&host(), "ens4"), capacity(&host(), "ens4")), (None, None));
}

#[test]
#[expect(clippy::float_cmp, reason = "whole numbers of KiB/s are exact")]
fn load_is_what_was_sent_over_the_time_that_passed() {
    let mut meter = Meter::default();
    let mut sample = |elapsed, interface, bytes| meter.sample(elapsed, interface, bytes);
    assert_eq!(sample(0, "a", 1 << 40), 0.0, "no difference yet");
    assert_eq!(sample(4 * S, "a", (1 << 40) + 4096 * 1024), 1024.0);
    assert_eq!(sample(4 * S + 1, "a", (1 << 40) + 9096 * 1024), 1024.0, "too soon to say");
    assert_eq!(sample(6 * S, "a", 0), 1024.0, "the counter began anew");
    assert_eq!(sample(7 * S, "a", 2048), 2.0);
    assert_eq!(sample(8 * S, "b", 1 << 50), 2.0, "another interface");
    assert_eq!(sample(9 * S, "b", (1 << 50) + 3072), 3.0);
    assert_eq!(sample(5 * S, "b", (1 << 50) + 9999), 3.0, "a clock that went backwards");
}

#[test]
fn processors_are_busy_when_neither_idle_nor_waiting() {
    let mut processors = Processors::default();
    assert_eq!(processors.sample(&fs::read_to_string(host().join("proc/stat")).unwrap()), None);
    // 60 busy, 30 idle, 10 waiting for a disk; what a guest took is in the first already.
    let later = "cpu  1040 20 310 8030 110 0 30 60 440 0\n";
    assert_eq!(processors.sample(later), Some(0.6));
    assert_eq!(processors.sample(later), None, "no time has passed");
    for damaged in ["", "cpu", "cpu  1 2 3", "cpu  1 2 x 4 5", "intr 1 2 3 4 5"] {
        assert_eq!(Processors::default().sample(damaged), None, "{damaged:?}");
    }
}

#[test]
fn connections_are_those_of_the_port_that_are_established() {
    assert_eq!(connections(&host(), 3128), 3);
    assert_eq!(connections(&host(), 8080), 0);
    assert_eq!(connections(Path::new("/nowhere"), 3128), 0);
}

#[test]
fn addresses_are_those_of_interfaces_that_others_can_use() {
    let all = ["172.17.0.1", "192.168.7.20", "2001:db8::20", "fd00::2", "2001:db8::77"];
    assert_eq!(of_interfaces(&host()), all.map(ip));
    assert_eq!(local_ipv6("rubbish\n\nzz 1 2 3 4 5\n"), [] as [IpAddr; 0]);
    assert_eq!(of_interfaces(Path::new("/nowhere")), [] as [IpAddr; 0]);
}

#[test]
fn the_way_out_stands_before_a_bridge() {
    let own = of_interfaces(&host());
    let chosen = choose(&own, &[ip("192.168.7.20")], None);
    assert_eq!(chosen.private, Some(ip("192.168.7.20")));
    assert_eq!(choose(&own, &[], None).private, Some(ip("172.17.0.1")));
    assert_eq!(chosen.public, Some(ip("2001:db8::20")), "no public one of IPv4");
    // An address that is not ours (a tunnel's, seen before it went) is not announced.
    assert_eq!(choose(&own, &[ip("10.9.9.9")], None).private, Some(ip("172.17.0.1")));
    let external = choose(&own, &[], Some(ip("198.51.100.7")));
    assert_eq!((external.public, external.external), (None, Some(ip("198.51.100.7"))));
    let public = choose(&[ip("10.1.2.3"), ip("192.0.2.9")], &[], Some(ip("198.51.100.7")));
    let expected =
        Addresses { public: Some(ip("192.0.2.9")), private: Some(ip("10.1.2.3")), external: None };
    assert_eq!(public, expected);
    assert!(choose(&[], &[], None).is_empty());
    for private in ["10.0.0.1", "172.31.0.1", "192.168.0.1", "100.64.0.1", "fd12::1", "fe80::1"] {
        assert!(is_private(ip(private)), "{private}");
    }
    for public in ["172.32.0.1", "100.128.0.1", "192.169.0.1", "2001:db8::1", "11.0.0.1"] {
        assert!(!is_private(ip(public)), "{public}");
    }
}

#[test]
fn what_the_kernel_would_use_is_an_address_of_this_host() {
    let own = of_interfaces(Path::new("/"));
    for address in way_out() {
        assert!(own.contains(&address) || address.is_loopback(), "{address} is not among {own:?}");
    }
}

#[test]
fn a_name_means_something_elsewhere_or_is_an_address() {
    let public = Addresses { public: Some(ip("192.0.2.9")), ..Addresses::default() };
    let ipv6 = Addresses { public: Some(ip("2001:db8::9")), ..Addresses::default() };
    assert_eq!(host_name(Some("given"), "a.b", &public), "given");
    assert_eq!(host_name(None, "a.b\n", &public), "a.b");
    assert_eq!(host_name(None, "short", &public), "192.0.2.9");
    assert_eq!(host_name(None, "short", &ipv6), "short");
    assert_eq!(host_name(None, "a.b;$(x)", &ipv6), "localhost");
}

#[test]
fn varnish_listens_where_its_option_says() {
    let any = ip("0.0.0.0");
    type Listener = Option<(IpAddr, u16)>;
    let cases: [(&[&str], Listener); 9] = [
        (&["-a", ":6081"], Some((any, 6081))),
        (&["-a:80"], Some((any, 80))),
        (&["-j", "unix", "-a", "http=192.0.2.1:8080,HTTP"], Some((ip("192.0.2.1"), 8080))),
        (&["-a", "[::1]:6082"], Some((ip("::1"), 6082))),
        (&["-a", "[::1]"], Some((ip("::1"), 80))),
        (&["-a", "localhost"], Some((any, 80))),
        (&["-a", "/run/v.sock", "-a", "p=:8443,PROXY", "-a", ":6083"], Some((any, 6083))),
        (&["-a"], None),
        (&["-f", "/etc/varnish/default.vcl"], None),
    ];
    for (arguments, expected) in cases {
        assert_eq!(varnish_listener(arguments), expected, "{arguments:?}");
    }
}

/// A process below a root, with sockets of these inodes and the sockets' tables of the fixture.
fn process(root: &Path, id: u32, comm: &str, cmdline: &str, inodes: &[u64]) {
    let folder = root.join("proc").join(id.to_string());
    fs::create_dir_all(folder.join("fd")).unwrap();
    fs::create_dir_all(folder.join("net")).unwrap();
    fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
    fs::write(folder.join("cmdline"), cmdline).unwrap();
    for (number, inode) in inodes.iter().enumerate() {
        symlink(format!("socket:[{inode}]"), folder.join("fd").join(number.to_string())).unwrap();
    }
    symlink("/dev/null", folder.join("fd/99")).unwrap();
    for table in ["tcp", "tcp6"] {
        fs::copy(host().join("proc/net").join(table), folder.join("net").join(table)).unwrap();
    }
}

#[test]
fn a_cache_is_found_by_its_process_and_otherwise_supposed() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let supposed =
        |kind, port| Cache { kind, address: ip("127.0.0.1"), port, seen: false, others: 0 };
    assert_eq!(find(root, None, None), supposed(Kind::Squid, 3128));
    assert_eq!(find(root, Some(Kind::Varnish), None), supposed(Kind::Varnish, 6081));
    process(root, 10, "sshd", "sshd", &[5005]);
    process(root, 20, "varnishd", "/usr/sbin/varnishd\0-a\0:6099\0-s\0malloc", &[]);
    let varnish = Cache { seen: true, ..supposed(Kind::Varnish, 6099) };
    assert_eq!(find(root, None, None), varnish);
    process(root, 30, "squid", "(squid-1)\0--kid\0", &[5006]);
    let squid = Cache { seen: true, ..supposed(Kind::Squid, 8080) };
    assert_eq!(find(root, None, None), squid);
    process(root, 31, "squid", "(squid-2)\0--kid\0", &[5001, 5002, 5005]);
    assert_eq!(find(root, None, None).port, 3128, "the usual port before a lesser");
    assert_eq!(find(root, Some(Kind::Varnish), None), varnish);
    assert_eq!(find(root, None, Some(3129)).port, 3129, "what is said is believed");
}

#[test]
fn it_is_looked_often_only_while_a_network_may_come() {
    let mut outlook = Outlook::default();
    assert!(outlook.look(0, &[], None), "the first look is news");
    assert!(!outlook.look(5_000_000, &[], None));
    assert_eq!(outlook.next_ns(), 10_000_000);
    let own = [ip("192.0.2.9")];
    assert!(outlook.look(10_000_000, &own, None), "an address");
    assert_eq!(outlook.next_ns(), 15_000_000, "a route may follow");
    assert!(outlook.look(15_000_000, &own, Some("ens3")), "and does");
    assert_eq!(outlook.next_ns(), S + 15_000_000);
    assert!(outlook.look(100 * S, &own, None), "the route is gone");
    assert!(!outlook.look(161 * S, &own, None));
    assert_eq!(outlook.next_ns(), 162 * S, "that is how it is here");
}

#[test]
fn a_heartbeat_says_what_was_read() {
    let options = Options {
        external_ip: Some(ip("198.51.100.7")),
        cloud: Some("west".to_owned()),
        coordinates: Some((48.5, -123.25)),
        ..Options::default()
    };
    let mut reporter = Reporter::new(options, &host(), "0".repeat(32));
    reporter.look(&|| vec![ip("192.168.7.20")]);
    let now = Now { elapsed_ns: 0, unix_s: 1_795_161_784.395_841_4 };
    reporter.measure(now);
    let info = include_str!("../fixtures/squid/info.txt");
    reporter.connections = Some(3);
    reporter.counters = Some(squid::parse(info, include_str!("../fixtures/squid/counters.txt")));
    let cache = find(Path::new("/nowhere"), None, None);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        reporter.heartbeat(now, &cache),
        format!(
            "{{\"uuid\": \"{}\", \"hostname\": \"cache-7.site.example\", \"cache_port\": 3128, \
             \"cache_type\": \"squid\", \"verified\": false, \"max_load\": 1125000, \
             \"upstream\": \"both\", \"private_ip\": \"192.168.7.20\", \
             \"external_ip\": \"198.51.100.7\", \"interval\": 30.0, \"cloud\": \"west\", \
             \"version\": \"{version}\", \"latitude\": 48.5, \"longitude\": -123.25, \
             \"timestamp\": 1795161784.3958414, \"load\": 0.0, \"connections\": 3, \
             \"hit_ratio\": 0.125, \"clients\": 17, \"disk_used_kib\": 40960}}",
            "0".repeat(32)
        )
    );
    assert!(!reporter.is_turned_back(now));
    assert!(reporter.is_turned_back(Now { unix_s: now.unix_s - 1.0, ..now }));
    let goodbye = reporter.goodbye(Now { unix_s: 2.5, ..now });
    assert_eq!(
        goodbye,
        format!("{{\"uuid\": \"{}\", \"timestamp\": 2.5, \"goodbye\": true}}", "0".repeat(32))
    );
}

/// The recorded heartbeat of Shoal's agent: the same fields in the same order and spelling.
#[test]
fn a_heartbeat_without_what_is_ours_is_that_of_shoals_agent() {
    let recorded = "reference/shoal-fixtures/agent_heartbeats_recorded.json";
    let test = "a_heartbeat_without_what_is_ours_is_that_of_shoals_agent";
    let Some(path) = plimsoll_testing::shared(test, recorded) else { return };
    let recorded: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let kinds = recorded.as_object().unwrap();
    let (_, messages) = kinds.iter().find(|(name, _)| name.contains("STUN")).unwrap();
    let raw = messages[0]["body_raw"].as_str().unwrap();
    let field = |name: &str| messages[0]["body"][name].as_str().unwrap().to_owned();
    let options = Options {
        hostname: Some(field("hostname")),
        external_ip: Some(ip(&field("external_ip"))),
        ..Options::default()
    };
    let root = tempfile::tempdir().unwrap();
    let net = root.path().join("proc/net");
    fs::create_dir_all(&net).unwrap();
    fs::write(net.join("fib_trie"), "|-- 10.1.2.3\n/32 host LOCAL\n").unwrap();
    fs::copy(host().join("proc/net/route"), net.join("route")).unwrap();
    let card = root.path().join("sys/class/net/ens3");
    fs::create_dir_all(&card).unwrap();
    fs::write(card.join("speed"), "10000\n").unwrap();
    let mut reporter = Reporter::new(options, root.path(), field("uuid"));
    reporter.look(&Vec::new);
    let unix_s = messages[0]["body"]["timestamp"].as_f64().unwrap();
    let ours = reporter.heartbeat(Now { elapsed_ns: 0, unix_s }, &find(root.path(), None, None));
    let version = env!("CARGO_PKG_VERSION");
    let ours = ours.replace(&format!("\"interval\": 30.0, \"version\": \"{version}\", "), "");
    assert_eq!(ours, raw);
}

#[test]
fn identities_are_random() {
    let (one, other) = (uuid().unwrap(), uuid().unwrap());
    assert!(one.len() == 32 && one.bytes().all(|b| b.is_ascii_hexdigit()));
    assert_ne!(one, other);
}

proptest! {
    #[test]
    fn no_text_makes_the_readers_fall(text in "[ -~\n\t]{0,300}") {
        let _ = plimsoll_shoal::agent::load::route_interface(&text);
        let _ = ipv6_route_interface(&text);
        let _ = local_ipv6(&text);
        let _ = plimsoll_shoal::agent::addresses::local_ipv4(text.as_bytes());
        let _ = Processors::default().sample(&text);
        let _ = plimsoll_shoal::agent::load::sockets(text.as_bytes()).count();
        let _ = varnish_listener(&["-a", &text]);
        let _ = squid::parse(&text, &text);
    }

    #[test]
    fn chosen_addresses_are_ones_that_were_there(
        bits in prop::collection::vec(any::<u32>(), 0..6),
    ) {
        let own: Vec<IpAddr> = bits.iter().map(|&bits| IpAddr::from(bits.to_be_bytes())).collect();
        let chosen = choose(&own, &own[..own.len() / 2], None);
        prop_assert!(chosen.public.is_none_or(|ip| own.contains(&ip) && !is_private(ip)));
        prop_assert!(chosen.private.is_none_or(|ip| own.contains(&ip) && is_private(ip)));
        prop_assert_eq!(chosen.is_empty(), own.is_empty());
    }
}

#[test]
fn a_port_that_is_given_is_asked_where_something_listens() {
    let folder = tempfile::tempdir().unwrap();
    let net = folder.path().join("proc/net");
    std::fs::create_dir_all(&net).unwrap();
    let row = |address: &str, port: u16, state: &str| {
        format!("   0: {address}:{port:04X} 00000000:0000 {state} 0:0 00:0 0 0 0 77\n")
    };
    let head = "  sl  local_address rem_address   st\n";
    for (rows, address) in [
        (row("00000000", 3128, "0A"), "127.0.0.1"),
        (row("0A0200C0", 3128, "0A"), "192.0.2.10"),
        // Loopback before others; another port, and what only is connected, say nothing.
        (row("0A0200C0", 3128, "0A") + &row("0100007F", 3128, "0A"), "127.0.0.1"),
        (row("0A0200C0", 3128, "01") + &row("0B0200C0", 3129, "0A"), "127.0.0.1"),
        (String::new(), "127.0.0.1"),
    ] {
        std::fs::write(net.join("tcp"), format!("{head}{rows}")).unwrap();
        let found = find(folder.path(), None, Some(3128));
        assert_eq!((found.address, found.port), (ip(address), 3128), "{rows}");
    }
}
