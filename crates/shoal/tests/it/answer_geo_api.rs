//! CVMFS's geo-API: places, arcs and orders are those of CVMFS's own test, the texts of errors
//! those of its `cvmfs_geo.py`.

use plimsoll_shoal::answer::geo_api::{
    Fault, MAX_NAME_BYTES, MAX_NAMES, answer, arc, bare, decoded, may_be_looked_up, question,
};
use plimsoll_shoal::geo::Spot;
use proptest::prelude::*;

const fn spot(latitude: f64, longitude: f64) -> Spot {
    Spot { latitude, longitude, country: None }
}

// Places and arcs of CVMFS's own test (test_cvmfs_geo.py).
const CERN: Spot = spot(46.2324, 6.0502);
const FNAL: Spot = spot(41.7768, -88.4604);
const IHEP: Spot = spot(39.9289, 116.3883);
const RAL: Spot = spot(51.75, -1.25);

/// Where names of this test are.
fn place(name: &str) -> Option<Spot> {
    match name {
        "cern" => Some(CERN),
        "fnal" => Some(FNAL),
        "ihep" => Some(IHEP),
        "ral" => Some(RAL),
        _ => None,
    }
}

fn ask(origin: Option<Spot>, servers: &str) -> Result<String, Fault> {
    let path = format!("v1.0/geo/proxy.example/{servers}");
    let question = question(&path).unwrap();
    let positions: Vec<_> = question.names().map(|name| name.and_then(place)).collect();
    answer(&question, origin, &positions)
}

#[test]
fn arcs_are_those_of_cvmfs_s_own_test() {
    let cases = [
        (FNAL, CERN, 1.114_584_55),
        (CERN, FNAL, 1.114_584_55),
        (IHEP, FNAL, 1.662_238_2),
        (CERN, RAL, 0.127_402_1),
        (IHEP, RAL, 1.283_025_4),
        (IHEP, CERN, 1.287_897_9),
        (CERN, CERN, 0.0),
    ];
    for (a, b, expected) in cases {
        assert!((arc(a, b) - expected).abs() < 1e-7, "{} {expected}", arc(a, b));
    }
}

#[test]
fn servers_are_numbered_from_1_nearest_first() {
    // The same cases as `test4GeosortServers`, there counted from 0.
    let cases = [
        (RAL, "cern,fnal,ihep,ral", "4,1,2,3\n"),
        (RAL, "ral,ihep,fnal,cern", "1,4,3,2\n"),
        (IHEP, "ral,ihep,fnal,cern", "2,1,4,3\n"),
        (CERN, "fnal,ihep,cern,ral", "3,4,1,2\n"),
        (FNAL, "ihep,cern,ral,fnal", "4,3,2,1\n"),
    ];
    for (origin, servers, expected) in cases {
        assert_eq!(ask(Some(origin), servers).as_deref(), Ok(expected), "{servers}");
    }
}

#[test]
fn servers_without_a_position_are_last_in_their_order() {
    let answer = ask(Some(CERN), "x,fnal,y,cern,z").unwrap();
    assert_eq!(answer, "4,2,1,3,5\n");
    // Equally far: in the order of the question.
    assert_eq!(ask(Some(CERN), "fnal,cern,fnal,cern").unwrap(), "2,4,1,3\n");
}

#[test]
fn behind_the_separator_are_proxies_and_hosts_are_sorted_from_the_nearest_of_them() {
    // From CERN, CERN is nearer than RAL; from the proxy at IHEP it is farther.
    assert_eq!(ask(Some(CERN), "cern,ral,+PXYSEP+,x,ihep").unwrap(), "2,1,5,4,3\n");
    // The proxies themselves are sorted from the client: CERN's is nearer to RAL than FNAL's.
    assert_eq!(ask(Some(RAL), "fnal,cern,+PXYSEP+,fnal,cern").unwrap(), "2,1,5,4,3\n");
    // Without a position among the proxies, hosts are sorted from the client.
    assert_eq!(ask(Some(RAL), "fnal,cern,+PXYSEP+,x,y").unwrap(), "2,1,4,5,3\n");
    // Proxies alone are no servers.
    assert_eq!(ask(Some(RAL), "+PXYSEP+,cern"), Err(Fault::NoServer));
    assert_eq!(ask(Some(RAL), "x,+PXYSEP+,cern"), Err(Fault::NoServer));
}

#[test]
fn faults_have_the_original_s_texts() {
    let body = |rest: &str| question(rest).unwrap_err().body();
    assert_eq!(body("v1.0/geo/x"), "Bad Request: no slash in geo path\n");
    assert_eq!(body("v1.0/other/x/y"), "Bad Request: unrecognized api function\n");
    for rest in ["", "x", "v1.0", "v1.0/geo", "1.0/geo/x/y"] {
        assert_eq!(body(rest), "Bad Request: malformed api URL\n");
    }
    let fault = ask(None, "cern").unwrap_err();
    assert_eq!(fault.body(), "Bad Request: remote addr not found in database\n");
    let fault = ask(Some(CERN), "x,y").unwrap_err();
    assert_eq!(fault.body(), "Bad Request: no server addr found in database\n");
}

#[test]
fn there_are_at_most_64_names_of_at_most_256_bytes() {
    let list = |count: usize| vec!["a.example"; count].join(",");
    let asked = |list: String| question(&format!("v1.0/geo/c/{list}")).map(|q| q.servers.len());
    assert_eq!(asked(list(MAX_NAMES)), Ok(64));
    assert_eq!(asked(list(MAX_NAMES + 1)), Err(Fault::TooMany));
    assert_eq!(asked(list(63) + ",+PXYSEP+,b.example"), Ok(65));
    assert_eq!(asked(list(64) + ",+PXYSEP+,b.example"), Err(Fault::TooMany));
    assert_eq!(asked(vec!["+PXYSEP+"; 1000].join(",")), Err(Fault::TooMany));
    assert!(may_be_looked_up(&"a".repeat(MAX_NAME_BYTES)));
    assert!(!may_be_looked_up(&"a".repeat(MAX_NAME_BYTES + 1)));
}

#[test]
fn only_names_and_addresses_are_looked_up() {
    for name in ["a.example", "192.0.2.1", "2001:db8::1", "A-9"] {
        assert!(may_be_looked_up(name), "{name}");
    }
    for name in ["", "a_b", "a b", "a;b", "+PXYSEP+", "é.example", "a/../b", "$(x)", "a\n"] {
        assert!(!may_be_looked_up(name), "{name}");
    }
    let question = question("v1.0/geo/c/a.example,b_c,+PXYSEP+").unwrap();
    assert_eq!(question.names().collect::<Vec<_>>(), [Some("a.example"), None, None]);
}

proptest! {
    #[test]
    fn every_answer_is_a_permutation(
        places in prop::collection::vec(
            prop::option::of((-90.0..=90.0f64, -180.0..=180.0f64)), 1..20),
        separator in prop::option::of(0usize..20),
        origin in (-90.0..=90.0f64, -180.0..=180.0f64),
    ) {
        let mut names = vec!["x"; places.len()];
        if let Some(separator) = separator {
            names[separator % places.len()] = "+PXYSEP+";
        }
        let path = format!("v1.0/geo/c/{}", names.join(","));
        let question = question(&path).unwrap();
        let positions: Vec<_> =
            places.iter().map(|place| place.map(|(lat, lon)| spot(lat, lon))).collect();
        if let Ok(body) = answer(&question, Some(spot(origin.0, origin.1)), &positions) {
            let mut numbers: Vec<usize> =
                body.trim_end().split(',').map(|n| n.parse().unwrap()).collect();
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (1..=places.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_question_panics(rest: String) {
        if let Ok(question) = question(&rest) {
            let _ = answer(&question, Some(CERN), &[]);
        }
    }
}

#[test]
fn what_is_escaped_in_a_path_is_meant_as_it_is_written_without() {
    for (written, meant) in [
        ("v1.0/geo/x/a,b", "v1.0/geo/x/a,b"),
        ("v1.0/geo/x/%5B2001:db8::1%5D%2Cb", "v1.0/geo/x/[2001:db8::1],b"),
        ("a%2BPXYSEP%2bb", "a+PXYSEP+b"),
        ("%", "%"),
        ("%4", "%4"),
        ("%zz%", "%zz%"),
        ("%ff", "\u{fffd}"),
    ] {
        assert_eq!(decoded(written), meant);
    }
    let asked = question("v1.0/geo/x/[2001:db8::1],[a],b").unwrap();
    assert_eq!(asked.names().collect::<Vec<_>>(), [Some("2001:db8::1"), None, Some("b")]);
    assert_eq!((bare("[::1]"), bare("::1"), bare("[x]")), ("::1", "::1", "[x]"));
}
