//! The golden page: a small run, byte for byte.

use plimsoll_report::{Options, html};

use crate::made::Course;

/// Twelve seconds with a warm-up, a stall and answers of 503.
fn page() -> String {
    let root = tempfile::tempdir().unwrap();
    let course = Course {
        name: "golden".to_owned(),
        slo: Some("p90<900ms, errors<0.1%".to_owned()),
        warmup_s: 2,
        measured_s: 10,
        stall: Some((6, 1)),
        refusing: Some((9, 12, 0.2)),
        ..Course::quiet("2026-10-26T120000-a1b2c3")
    };
    html(&[course.write(root.path())], &Options::default()).unwrap()
}

/// The page without the style sheet and the script, which are read as the files they are, and with
/// an element a line, so that a difference can be read.
pub(crate) fn normal(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    for (open, close) in [("<style>", "</style>"), ("<script>", "</script>")] {
        let (before, after) = rest.split_once(open).unwrap();
        let (_, after) = after.split_once(close).unwrap();
        out.push_str(before);
        out.push_str(open);
        out.push_str(close);
        rest = after;
    }
    out.push_str(rest);
    out.replace("><", ">\n<")
}

#[test]
fn the_page_of_a_small_run_is_the_golden_one() {
    let (page, golden) = (normal(&page()), include_str!("golden/page.html"));
    if page != golden {
        let differs = page.lines().zip(golden.lines()).enumerate().find(|(_, (a, b))| a != b);
        panic!(
            "the page differs from tests/it/golden/page.html, first at {differs:?}\n\
             where that is meant: \
             cargo test -p plimsoll-report --test it -- --ignored make_golden_page_anew"
        );
    }
}

#[test]
#[ignore = "writes the golden page"]
fn make_golden_page_anew() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden/page.html");
    std::fs::write(path, normal(&page())).unwrap();
}

#[test]
fn the_same_run_gives_the_same_page() {
    assert!(page() == page());
}
