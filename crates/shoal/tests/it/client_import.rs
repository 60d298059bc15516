//! Static caches from site lists.

use plimsoll_shoal::client::import::{ImportError, parse};
use proptest::prelude::*;

const LIST: &str = r#"{
 "Site_B": {"ips": ["192.0.2.0/24", "2001:db8::/48"], "names": ["Site B"], "source": "manual",
  "proxies": [
   {"default": ["p1.b.example:3128", "p2.b.example:3128"], "loadbalance": "proxies"},
   {"default": ["[2001:db8::5]:3129"], "ipranges": ["192.0.2.7-192.0.2.9", "192.0.2.77"],
    "atlas": ["http://a.b.example:3130/"], "comment": "x"}]},
 "Site_A": {"ip": "198.51.100.7", "proxies": [{"default": ["192.0.2.250:80"]}]},
 "Off": {"ip": "x", "disabled": "until May", "proxies": [{"default": ["nonsense"]}]},
 "None": {"ip": "198.51.100.8"}
}"#;

#[test]
fn entries_become_caches_with_their_networks() {
    let list = parse(LIST.as_bytes()).unwrap();
    assert_eq!(list.faults, []);
    let caches = list.caches;
    let short: Vec<(&str, &str, u16, &str, usize, bool)> = caches
        .iter()
        .map(|c| (&*c.site, &*c.host, c.port, &*c.destination, c.rank, c.loadbalance))
        .collect();
    assert_eq!(
        short,
        [
            ("Site_A", "192.0.2.250", 80, "default", 0, false),
            ("Site_B", "p1.b.example", 3128, "default", 0, true),
            ("Site_B", "p2.b.example", 3128, "default", 1, true),
            ("Site_B", "a.b.example", 3130, "atlas", 0, false),
            ("Site_B", "2001:db8::5", 3129, "default", 0, false),
        ]
    );
    let is_for = |index: usize, ip: &str| {
        caches[index].networks.iter().any(|range| range.contains(ip.parse().unwrap()))
    };
    assert!(is_for(0, "198.51.100.7") && !is_for(0, "198.51.100.8"));
    assert!(is_for(1, "192.0.2.255") && is_for(1, "2001:db8:0:9::1") && !is_for(1, "192.0.3.0"));
    assert!(is_for(4, "192.0.2.8") && is_for(4, "192.0.2.77"));
    assert!(!is_for(4, "192.0.2.10") && !is_for(4, "::ffff:192.0.2.8"), "one family");
    assert_eq!(caches[1].source.as_deref(), Some("manual"));
}

#[test]
fn a_fault_names_its_entry() {
    let cases = [
        (r#"{"S": {"proxies": [{"default": ["h"]}]}}"#, "`default` holds \"h\""),
        (r#"{"S": {"proxies": [{"default": ["h:0"]}]}}"#, "`default` holds \"h:0\""),
        (r#"{"S": {"proxies": [{"default": ["h:65536"]}]}}"#, "`default` holds \"h:65536\""),
        (r#"{"S": {"proxies": [{"default": ["$(x):1"]}]}}"#, "`default` holds \"$(x):1\""),
        (r#"{"S": {"proxies": [{"default": ["::1:3128"]}]}}"#, "`default` holds \"::1:3128\""),
        (r#"{"S": {"proxies": [{"default": "h:1"}]}}"#, "`default` is \"h:1\""),
        (r#"{"S": {"proxies": {}}}"#, "`proxies` is {}"),
        (r#"{"S": {"proxies": [7]}}"#, "one of `proxies` is 7"),
        (r#"{"S": {"ips": ["1.2.3.4/33"]}}"#, "`ips` holds \"1.2.3.4/33\""),
        (r#"{"S": {"ip": 7}}"#, "`ip` holds 7"),
        (
            r#"{"S": {"proxies": [{"ipranges": ["9.0.0.1-8.0.0.1"]}]}}"#,
            "`ipranges` holds \"9.0.0.1-8.0.0.1\"",
        ),
        (r#"{"S": {"disabled": 3}}"#, "`disabled` is 3"),
        (r#"{"S": []}"#, "it is not an object"),
    ];
    for (text, fault) in cases {
        let list = parse(text.as_bytes()).unwrap();
        let [found] = &list.faults[..] else { panic!("{text}: {list:?}") };
        assert_eq!(found.to_string(), format!("entry \"S\" at line 1, column 2: {fault}"));
        assert_eq!(list.caches, []);
    }
    let text = "{\"A\": {\"names\": [\"S\", \"\\\"\\n\"]},\n\n  \"\\u0053\": 7}";
    let fault = parse(text.as_bytes()).unwrap().faults[0].to_string();
    assert_eq!(fault, "entry \"S\" at line 3, column 3: it is not an object");
    let error = parse(b"{\"S\": {},\n \"T\" 7}").unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("at line 2 column"), "{cause}");
    assert!(matches!(parse(b"["), Err(ImportError::Json(Some(_)))));
    assert!(matches!(parse(b"[]"), Err(ImportError::Json(None))));
}

#[test]
fn what_is_not_understood_is_left_out_by_itself() {
    let text = r#"{
 "A": {"proxies": [{"default": ["DIRECT", "a.example:1", "b.example"]}, 7, {"cvmfs": ["c:2"]}]},
 "B": {"ips": ["192.0.2.0/24", "nonsense"], "proxies": [{"default": ["d.example:3"]}]},
 "C": {"ips": ["nonsense"], "proxies": [{"default": ["e.example:4"]}]},
 "D": {"proxies": [{"ipranges": ["x"], "default": ["f.example:5"]}, {"default": ["g.example:6"]}]},
 "E": 7}"#;
    let list = parse(text.as_bytes()).unwrap();
    let hosts: Vec<(&str, usize)> =
        list.caches.iter().map(|cache| (&*cache.host, cache.networks.len())).collect();
    // Those of C and of D's first would be for everybody.
    let expected = [("a.example", 0), ("c", 0), ("d.example", 1), ("g.example", 0)];
    assert_eq!(hosts, expected);
    let faults: Vec<(&str, &str)> =
        list.faults.iter().map(|fault| (&*fault.entry, &*fault.what)).collect();
    let expected = [
        ("A", "`default` holds \"DIRECT\""),
        ("A", "`default` holds \"b.example\""),
        ("A", "one of `proxies` is 7"),
        ("B", "`ips` holds \"nonsense\""),
        ("C", "`ips` holds \"nonsense\""),
        ("D", "`ipranges` holds \"x\""),
        ("E", "it is not an object"),
    ];
    assert_eq!(faults, expected);
}

#[test]
fn what_is_too_much_is_not_taken() {
    let long = vec![b' '; plimsoll_shoal::client::import::MOST_BYTES + 1];
    assert!(matches!(parse(&long), Err(ImportError::Long)));
    let many = vec!["\"a.b:1\""; 100_001].join(",");
    let many = format!("{{\"S\": {{\"proxies\": [{{\"default\": [{many}]}}]}}}}");
    assert!(matches!(parse(many.as_bytes()), Err(ImportError::Many)));
}

proptest! {
    /// Of each list of proxies, every item is a cache or a fault.
    #[test]
    fn every_proxy_is_taken_or_told(items in prop::collection::vec("[a-z0-9:.\\[\\]]{0,9}", 0..9)) {
        let text = serde_json::json!({"S": {"proxies": [{"default": items}]}}).to_string();
        let list = parse(text.as_bytes()).unwrap();
        prop_assert_eq!(list.caches.len() + list.faults.len(), items.len());
    }

    #[test]
    fn a_damaged_list_is_refused_or_read_but_never_harmful(at in 0usize..600, byte in any::<u8>()) {
        let mut bytes = LIST.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        for cache in parse(&bytes).unwrap_or_default().caches {
            prop_assert!(plimsoll_net::url::is_host(&cache.host) && cache.port > 0);
        }
    }
}
