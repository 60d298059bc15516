//! What a page may be asked for, and what is said to the rest.

use plimsoll_shoal::page::{Column, Query, refusal};
use plimsoll_shoal::registry::State;
use proptest::prelude::*;

fn read(target: &str) -> Query {
    Query::parse(100, target).unwrap()
}

#[test]
fn nothing_said_is_the_first_page_by_host() {
    for target in ["/", "/?", "/?cloud=&state=&load_min=&page=", "/?other=1&&="] {
        assert_eq!(read(target), Query::default(), "{target}");
    }
    assert_eq!(Query::parse(0, "/0").unwrap().size, 1000);
    assert_eq!(Query::default().href(), "/");
}

#[test]
fn each_parameter_says_something() {
    let query = read(
        "/20?host=A.b&cloud=c+d&country=ch&version=1%2e0&state=failing&load_min=5&load_max=80\
         &sort=load&order=asc&page=3&errors=1000",
    );
    let expected = Query {
        host: "a.b".into(),
        cloud: "c d".into(),
        country: "ch".into(),
        version: "1.0".into(),
        state: Some(State::Failing),
        load_min: 5,
        load_max: 80,
        sort: Column::Load,
        falling: false,
        page: 3,
        errors: 1000,
        ..Query::default()
    };
    assert_eq!(query, expected);
    // What is busy, and what is silent, comes first where nothing else is said.
    assert!(read("/?sort=load").falling && read("/?sort=heartbeat").falling);
    assert!(!read("/?sort=cloud").falling);
}

#[test]
fn what_is_wrong_is_said_by_name() {
    for (target, says) in [
        ("/?page=0", "`page` is not a whole number from 1 to 1000000"),
        ("/?page=+1", "`page` is not a whole number from 1 to 1000000"),
        ("/?load_min=101", "`load_min` is not a whole number from 0 to 100"),
        ("/?load_max=-1", "`load_max` is not a whole number from 0 to 100"),
        ("/?errors=99999999999999999999", "`errors` is not a whole number from 1 to 1000"),
        ("/?sort=<b>", "`sort` is none of host, address, cloud, country, version, state, load"),
        ("/?order=up", "`order` is none of asc, desc"),
        ("/?state=ill", "`state` is none of unverified, verified, failing, drained, banned"),
        ("/?cloud=a&cloud=b", "`cloud` is given twice"),
    ] {
        let fault = Query::parse(100, target).unwrap_err();
        assert!(fault.to_string().starts_with(says), "{target}: {fault}");
        assert!(refusal(&fault).contains("All caches"));
    }
    let long = format!("/?host={}", "a".repeat(254));
    assert_eq!(
        Query::parse(100, &long).unwrap_err().to_string(),
        "`host` is longer than 253 bytes"
    );
}

fn columns() -> impl Strategy<Value = Column> {
    (0..Column::ALL.len()).prop_map(|at| Column::ALL[at])
}

proptest! {
    #[test]
    fn a_link_asks_for_what_it_was_made_of(
        (host, cloud, country, version) in ("[a-z0-9.:-]{0,40}", ".{0,20}", ".{0,9}", ".{0,20}"),
        (size, page, errors) in (1_usize..=1000, 1_usize..=1_000_000, 1_usize..=1000),
        (sort, falling) in (columns(), any::<bool>()),
        (load_min, load_max) in (0_u8..=100, 0_u8..=100),
        state in 0_usize..6,
    ) {
        let states =
            [State::Unverified, State::Verified, State::Failing, State::Drained, State::Banned];
        let state = states.get(state).copied();
        let query = Query {
            size, page, sort, falling, host, cloud, country, version, state, load_min, load_max,
            errors,
        };
        let href = query.href();
        prop_assert!(href.bytes().all(|byte| byte.is_ascii_graphic()), "{href}");
        prop_assert_eq!(Query::parse(size, &href), Ok(query));
    }

    #[test]
    fn no_target_is_too_much(size in any::<usize>(), target in any::<String>()) {
        if let Ok(query) = Query::parse(size, &format!("/?{target}")) {
            prop_assert!((1..=1000).contains(&query.size));
        }
    }

    #[test]
    fn no_value_is_too_much(name in "(page|sort|order|load_min|errors|state|host)", value in ".*") {
        let _ = Query::parse(1, &format!("/?{name}={value}"));
    }
}
