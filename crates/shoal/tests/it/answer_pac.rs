//! `/wpad.dat` as recorded and `/proxy.pac` as the format says.

use plimsoll_shoal::answer::pac::{COUNT, Host, proxy_pac, wpad};

/// The script for some hosts: what writes it, `wpad` or `proxy_pac`, is tested with the same ones.
macro_rules! written {
    ($write:ident, $hosts:expr) => {{
        let mut out = Vec::new();
        $write(&mut out, $hosts.iter().copied());
        String::from_utf8(out).unwrap()
    }};
}

const NONE: [Host<'static>; 0] = [];

fn value(script: &str) -> &str {
    let body =
        script.strip_prefix("function FindProxyForURL(url, host)\n{\n    return \"").unwrap();
    body.strip_suffix("\";\n}\n").unwrap()
}

#[test]
fn wpad_has_http_inside_and_no_blank_between_caches() {
    let hosts = [("a.example", 3128), ("b.example", 8000)];
    assert_eq!(
        value(&written!(wpad, hosts)),
        "PROXY http://a.example:3128;PROXY http://b.example:8000; DIRECT"
    );
    assert_eq!(value(&written!(wpad, hosts[..1])), "PROXY http://a.example:3128; DIRECT");
}

#[test]
fn proxy_pac_has_host_and_port_only() {
    let hosts = [("a.example", 3128), ("b.example", 8000)];
    assert_eq!(
        value(&written!(proxy_pac, hosts)),
        "PROXY a.example:3128; PROXY b.example:8000; DIRECT"
    );
}

#[test]
fn without_a_cache_both_are_direct() {
    assert_eq!(value(&written!(wpad, NONE)), "DIRECT");
    assert_eq!(value(&written!(proxy_pac, NONE)), "DIRECT");
}

#[test]
fn there_are_ten_caches_at_most() {
    let names: Vec<String> = (0..COUNT + 3).map(|n| format!("s{n}.example")).collect();
    let hosts: Vec<Host<'_>> = names.iter().map(|name| (name.as_str(), 3128)).collect();
    for script in [written!(wpad, hosts), written!(proxy_pac, hosts)] {
        assert_eq!(script.matches("PROXY ").count(), 10);
        assert!(script.contains("s9.example:3128; DIRECT"), "{script}");
    }
}
