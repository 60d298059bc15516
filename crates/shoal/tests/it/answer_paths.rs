//! What request lines ask for.

use plimsoll_shoal::answer::paths::{DEFAULT_COUNT, DEFAULT_PAGE, MAX_COUNT, Route, V1, route};
use plimsoll_shoal::order::Menu;
use proptest::prelude::*;

use crate::support::python::python;

fn get(path: &str) -> Route<'_> {
    route("GET", path)
}

fn nearest(menu: Menu, count: usize) -> Route<'static> {
    Route::Nearest { menu, count }
}

#[test]
fn old_paths_are_matched_in_whole() {
    let squid = |count| nearest(Menu::Squid, count);
    let cases = [
        ("/nearest", squid(DEFAULT_COUNT)),
        ("/nearest/", squid(DEFAULT_COUNT)),
        ("/nearest//", squid(DEFAULT_COUNT)),
        ("/nearest/0", squid(0)),
        ("/nearest/7", squid(7)),
        ("/nearest/7/", squid(7)),
        ("/nearest7", squid(7)),
        ("/nearest/007", squid(7)),
        ("/nearestverified", squid(DEFAULT_COUNT)),
        ("/nearestverified/20", squid(20)),
        ("/nearestcvmfs/7/", nearest(Menu::Cvmfs, 7)),
        ("/nearestconditions/7/", nearest(Menu::Conditions, 7)),
        ("/all", Route::All),
        ("/all/1", Route::All),
        ("/all/1/", Route::All),
        ("/wpad.dat", Route::Wpad),
        ("/proxy.pac", Route::ProxyPac),
        ("/metrics", Route::Metrics),
        ("/", Route::Page { size: DEFAULT_PAGE }),
        ("//", Route::Page { size: DEFAULT_PAGE }),
        ("/0", Route::Page { size: 0 }),
        ("/50/", Route::Page { size: 50 }),
    ];
    for (path, expected) in cases {
        assert_eq!(get(path), expected, "{path}");
    }
    for path in [
        "",
        "nearest",
        "/nearest/abc",
        "/nearest/-1",
        "/nearest/+1",
        "/nearest/1/2",
        "/nearest/ 1",
        "/nearest///",
        "/Nearest",
        "/nearestx",
        "/external",
        "/all/x",
        "/wpad.dat/",
        "/x",
        "/1/2",
        "/nearest/٣",
        "/v1",
        "/cvmfs",
        "/cvmfs/",
        "/cvmfs/a",
        "/cvmfs//api/v1.0/geo/x/y",
        "/cvmfs/a/data/x",
    ] {
        assert_eq!(get(path), Route::NotFound, "{path}");
    }
}

#[test]
fn old_paths_are_those_of_the_original_s_expressions() {
    // shoal-server's `urls`, which web.py matches in whole.
    const SCRIPT: &str = r"
import re, sys
names = ['nearest', 'nearestverified', 'nearestcvmfs', 'nearestconditions', 'all', '']
urls = [(n or 'page', re.compile(r'^/%s\Z' % (n + r'/?(\d+)?/?' if n else r'(\d+)?/?'), re.A))
        for n in names]
for path in sys.stdin.read().split('\n'):
    found = [(n, m.group(1)) for n, url in urls for m in [url.match(path)] if m]
    print(*(found[0] if found else ('none', None)))
";
    let parts =
        ["/", "nearest", "verified", "cvmfs", "conditions", "all", "0", "7", "999", "-", "a"];
    let mut paths = Vec::new();
    let mut layer = vec![String::new()];
    for _ in 0..4 {
        layer = layer
            .iter()
            .flat_map(|start| parts.iter().map(move |part| format!("{start}{part}")))
            .collect();
        paths.extend_from_slice(&layer);
    }
    paths.retain(|path| path.starts_with('/'));
    paths.sort();
    paths.dedup();
    let name = "old_paths_are_those_of_the_original_s_expressions";
    let Some(printed) = python(name, SCRIPT, paths.join("\n").as_bytes()) else { return };
    assert_eq!(printed.lines().count(), paths.len());
    for (path, theirs) in paths.iter().zip(printed.lines()) {
        let (class, digits) = theirs.split_once(' ').unwrap();
        let number = |default| digits.parse().map_or(default, |n: usize| n.min(MAX_COUNT));
        let expected = match class {
            "nearest" | "nearestverified" => nearest(Menu::Squid, number(DEFAULT_COUNT)),
            "nearestcvmfs" => nearest(Menu::Cvmfs, number(DEFAULT_COUNT)),
            "nearestconditions" => nearest(Menu::Conditions, number(DEFAULT_COUNT)),
            "all" => Route::All,
            "page" => Route::Page { size: number(DEFAULT_PAGE) },
            _ => Route::NotFound,
        };
        assert_eq!(get(path), expected, "{path}");
    }
}

#[test]
fn a_count_is_at_most_1000_however_long_it_is() {
    for digits in ["1000", "1001", "99999999999999999999999999999999999999999"] {
        let path = format!("/nearest/{digits}");
        assert_eq!(get(&path), nearest(Menu::Squid, MAX_COUNT));
    }
    assert_eq!(get("/nearest/999"), nearest(Menu::Squid, 999));
}

#[test]
fn other_methods_are_refused_on_paths_that_are_there() {
    for path in ["/nearest", "/all/3", "/wpad.dat", "/", "/metrics", "/proxy.pac"] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "get"] {
            assert_eq!(route(method, path), Route::MethodNotAllowed, "{method} {path}");
        }
        assert_eq!(route("HEAD", path), get(path));
    }
    assert_eq!(route("POST", "/nearest/abc"), Route::NotFound);
}

#[test]
fn our_paths_are_below_v1() {
    let cases = [
        ("GET", "/v1/nearest?n=3&ip=8.8.8.8", V1::Nearest),
        ("HEAD", "/v1/nearest", V1::Nearest),
        ("POST", "/v1/nearest", V1::MethodNotAllowed("GET, HEAD")),
        ("GET", "/v1/caches", V1::Caches),
        ("GET", "/v1/caches/00ff00000000001a", V1::Cache(0x00ff_0000_0000_001a)),
        ("GET", "/v1/caches/00FF00000000001A", V1::NotFound),
        ("GET", "/v1/caches/1a", V1::NotFound),
        ("GET", "/v1/caches/+0ff00000000001a", V1::NotFound),
        ("DELETE", "/v1/caches/00ff00000000001a", V1::MethodNotAllowed("GET, HEAD")),
        ("POST", "/v1/heartbeat", V1::Heartbeat),
        ("DELETE", "/v1/heartbeat", V1::Goodbye),
        ("GET", "/v1/heartbeat", V1::MethodNotAllowed("POST, DELETE")),
        ("GET", "/v1/health", V1::Health),
        ("GET", "/v1/ready", V1::Ready),
        ("GET", "/v1/openapi.json", V1::OpenApi),
        ("GET", "/v1/", V1::NotFound),
        ("GET", "/v1/nearest/", V1::NotFound),
    ];
    for (method, path, expected) in cases {
        assert_eq!(route(method, path), Route::V1(expected), "{method} {path}");
    }
}

#[test]
fn the_geo_api_is_where_cvmfs_looks_for_it() {
    let path = "/cvmfs/atlas.cern.ch/api/v1.0/geo/proxy.example/a.example,b.example";
    assert_eq!(get(path), Route::GeoApi("v1.0/geo/proxy.example/a.example,b.example"));
    assert_eq!(get("/cvmfs/a/api/x"), Route::GeoApi("x"));
}

proptest! {
    #[test]
    fn every_string_has_a_route(method: String, path: String) {
        let _ = route(&method, &path);
    }

    #[test]
    fn what_looks_like_a_path_has_a_route_and_no_count_above_1000(
        path in "/(nearest|all|nearestcvmfs|v1|v1/caches|cvmfs|)[/0-9a-f?٣é-]{0,30}"
    ) {
        match route("GET", &path) {
            Route::Nearest { count, .. } => prop_assert!(count <= MAX_COUNT),
            Route::Page { size } => prop_assert!(size <= MAX_COUNT),
            _ => {}
        }
        // The query says nothing to an old path.
        if !path.contains('?') {
            let with_query = format!("{path}?count=1");
            prop_assert_eq!(route("GET", &path), route("GET", &with_query));
        }
    }
}
