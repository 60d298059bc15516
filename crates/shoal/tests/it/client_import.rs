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
    let caches = parse(LIST.as_bytes()).unwrap();
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
        let error = parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), format!("entry \"S\" at line 1, column 2: {fault}"));
    }
    let text = "{\"A\": {\"names\": [\"S\", \"\\\"\\n\"]},\n\n  \"\\u0053\": 7}";
    let error = parse(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "entry \"S\" at line 3, column 3: it is not an object");
    let error = parse(b"{\"S\": {},\n \"T\" 7}").unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("at line 2 column"), "{cause}");
    assert!(matches!(parse(b"["), Err(ImportError::Json(Some(_)))));
    assert!(matches!(parse(b"[]"), Err(ImportError::Json(None))));
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
    #[test]
    fn a_damaged_list_is_refused_or_read_but_never_harmful(at in 0usize..600, byte in any::<u8>()) {
        let mut bytes = LIST.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        for cache in parse(&bytes).unwrap_or_default() {
            prop_assert!(plimsoll_shoal::http1::is_host(&cache.host) && cache.port > 0);
        }
    }
}
