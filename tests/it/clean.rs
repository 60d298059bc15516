//! Lists of URLs: placeholders in them, and those that are cleaned.

use crate::nginx::{asked, nginx};
use crate::place::Place;
use std::collections::BTreeSet;

const LIST: &str = "# what is asked for\nurl,weight\n/good,3\n/gone,2\n\n/moved,9\n\
    /good?n={{counter}},1\n\"/good?a,b\",1\n/broken,1\n";

#[test]
fn a_list_is_cleaned_of_what_does_not_answer_200() {
    let test = "a_list_is_cleaned_of_what_does_not_answer_200";
    let place = Place::new();
    let Some((_nginx, port)) = nginx(&place, test, |port| {
        format!(
            "server {{ listen 127.0.0.1:{port}; location = /good {{ return 200; }}\n\
             location = /moved {{ return 302 /good; }} location = /broken {{ return 444; }}\n\
             location / {{ return 404; }} }}"
        )
    }) else {
        return;
    };
    let url = format!("http://127.0.0.1:{port}/");
    place.write("urls.csv", LIST);
    let clean = ["load", &url, "--urls", "urls.csv", "--clean", "good.csv", "--quiet"];
    let done = place.plimsoll(&clean).ended_with(0);
    done.prints(&["3 of 6 URLs answered 200: good.csv", "302 × 1", "404 × 1", "reset × 1"]);
    let kept = std::fs::read_to_string(place.path("good.csv")).unwrap();
    let expected =
        "# what is asked for\nurl,weight\n/good,3\n\n/good?n={{counter}},1\n\"/good?a,b\",1\n";
    assert_eq!(kept, expected);
    assert_eq!((asked(&place, "/moved"), asked(&place, "/gone")), (1, 1));
    assert!(!place.path("runs").exists(), "no run is kept");
    let of = place.plimsoll(&[&clean[..], &["--json"]].concat()).ended_with(0).json();
    assert_eq!((&of["kept"], &of["urls"]), (&3.into(), &6.into()), "{of}");
    assert_eq!(of["status"], serde_json::json!({ "200": 3, "302": 1, "404": 1 }), "{of}");

    place.write("bad.csv", "/gone\n");
    let none = ["load", &url, "--urls", "bad.csv", "--clean", "none.csv", "--quiet"];
    place.plimsoll(&none).ended_with(4).prints(&["0 of 1 URLs answered 200"]);
    let without = ["load", &url, "--clean", "good.csv", "--quiet"];
    place.plimsoll(&without).ended_with(2).says(&["--urls"]);
    place.plimsoll(&[&clean[..], &["--check"]].concat()).ended_with(2);
}

#[test]
fn urls_may_hold_placeholders() {
    let test = "urls_may_hold_placeholders";
    for http2 in ["", " http2"] {
        let place = Place::new();
        let Some((_nginx, port)) = nginx(&place, test, |port| {
            format!("server {{ listen 127.0.0.1:{port}{http2}; location / {{ return 200; }} }}")
        }) else {
            return;
        };
        let version = if http2.is_empty() { "1.1" } else { "2" };
        let url = format!("http://127.0.0.1:{port}/item/{{{{counter}}}}?r={{{{random:7..9}}}}");
        let load = ["load", &url, "--rate", "20/s", "--for", "1s", "--http", version, "--json"];
        let of = place.plimsoll(&load).ran().json();
        assert_eq!(of["succeeded"], 20, "{of}");
        let log = std::fs::read_to_string(place.path("nginx/access.log")).unwrap();
        let targets: BTreeSet<&str> =
            log.lines().filter_map(|line| line.split(' ').nth(6)).collect();
        assert_eq!(targets.len(), 20, "{targets:?}");
        assert!((0..20).all(|n| targets.iter().any(|of| of.starts_with(&format!("/item/{n}?r=")))));
        let draws: BTreeSet<&str> = targets.iter().filter_map(|of| of.rsplit('=').next()).collect();
        assert!(draws.iter().all(|draw| ["7", "8", "9"].contains(draw)) && draws.len() > 1);
    }
    let place = Place::new();
    let wrong = ["load", "http://127.0.0.1:1/{{uid}}", "--rate", "5/s", "--for", "1s"];
    place.plimsoll(&wrong).ended_with(2).says(&["{{counter}}, {{uuid}}", "write {{uuid}}"]);
}
