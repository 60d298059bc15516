//! The query of `/v1/nearest`, within the bounds that the `OpenAPI` document names.

use std::net::IpAddr;

use plimsoll_shoal::answer::query::{MAX_N, Query, QueryFault};
use plimsoll_shoal::order::Menu;
use proptest::prelude::*;

use crate::answer_openapi::document;

fn parsed(query: &str) -> Result<(usize, Option<IpAddr>, Option<String>, Menu), QueryFault> {
    let path = format!("/v1/nearest?{query}");
    let query = Query::parse(&path)?;
    Ok((query.n, query.ip, query.cloud.map(Into::into), query.menu))
}

#[test]
fn every_parameter_may_be_absent() {
    let nothing = Ok((5, None, None, Menu::All));
    for query in ["", "&", "n=", "n", "n=&ip=&cloud=&type=", "other=1&x", "N=7"] {
        assert_eq!(parsed(query), nothing, "{query}");
    }
    let query = Query::parse("/v1/nearest").unwrap();
    assert_eq!((query.n, query.menu), (5, Menu::All));
}

#[test]
fn parameters_mean_what_they_say() {
    let all = parsed("n=100&ip=2001:db8::7&cloud=cloud-a.x_1&type=varnish").unwrap();
    let ip = "2001:db8::7".parse().unwrap();
    assert_eq!(all, (100, Some(ip), Some("cloud-a.x_1".to_owned()), Menu::Varnish));
    assert_eq!(parsed("type=squid&n=1").unwrap(), (1, None, None, Menu::Squid));
    // As browsers escape them.
    assert_eq!(parsed("ip=2001%3Adb8%3a%3A7").unwrap().1, Some(ip));
    assert_eq!(parsed("n=%37").unwrap().0, 7);
}

#[test]
fn what_is_out_of_bounds_is_named() {
    let cases = [
        ("n=0", QueryFault::N),
        ("n=101", QueryFault::N),
        ("n=-1", QueryFault::N),
        ("n=%2B1", QueryFault::N),
        ("n=five", QueryFault::N),
        ("n=99999999999999999999999", QueryFault::N),
        ("ip=1.2.3", QueryFault::Ip),
        ("ip=1.2.3.4:80", QueryFault::Ip),
        ("cloud=a+b", QueryFault::Cloud),
        ("cloud=a%22b", QueryFault::Cloud),
        ("cloud=%ff", QueryFault::Cloud),
        ("cloud=%", QueryFault::Cloud),
        ("type=nginx", QueryFault::Type),
        ("type=Squid", QueryFault::Type),
        ("n=1&n=2", QueryFault::Twice),
    ];
    for (query, fault) in cases {
        assert_eq!(parsed(query), Err(fault), "{query}");
    }
    assert_eq!(parsed(&format!("cloud={}", "a".repeat(65))), Err(QueryFault::Cloud));
    assert!(parsed(&format!("cloud={}", "a".repeat(64))).is_ok());
}

#[test]
fn the_bounds_are_those_of_the_document() {
    let document = document();
    let n = &document["paths"]["/v1/nearest"]["get"]["parameters"][0];
    assert_eq!(n["name"], "n");
    assert_eq!(n["schema"]["minimum"], 1);
    assert_eq!(n["schema"]["maximum"], MAX_N);
    assert_eq!(n["schema"]["default"], parsed("").unwrap().0);
}

proptest! {
    #[test]
    fn no_query_panics_and_none_gets_out_of_bounds(
        text in ".*|([a-z]{0,5}=?[%0-9a-z+&:.]{0,20})*",
    ) {
        if let Ok((n, _, cloud, _)) = parsed(&text) {
            prop_assert!((1..=MAX_N).contains(&n));
            prop_assert!(cloud.is_none_or(|cloud| cloud.is_ascii() && cloud.len() <= 64));
        }
    }
}
