//! What every page must be: well formed, without outside references, of a bounded size, and
//! without a word that its run did not say.

use plimsoll_report::{ReportError, Source, document};
use plimsoll_runs::Run;

use crate::golden::of_runs;
use crate::made::Course;
use crate::parser::{Page, parse};

fn page_of(courses: &[Course]) -> String {
    let root = tempfile::tempdir().unwrap();
    let runs: Vec<Run> = courses.iter().map(|course| course.write(root.path())).collect();
    of_runs(&runs).html()
}

/// Checks what holds of every page, and gives it back in parts.
pub(crate) fn checked(page: &str) -> Page {
    let parsed = parse(page);
    for key in ["src", "srcset", "xlink:href", "action", "data", "poster", "style"] {
        assert_eq!(parsed.values(key).count(), 0, "an attribute {key}");
    }
    assert!(parsed.values("href").all(|link| link.starts_with('#')), "links stay in the page");
    let events = parsed.elements.iter().flat_map(|(_, attributes)| attributes);
    assert!(events.into_iter().all(|(key, _)| !key.starts_with("on")), "no inline events");
    for element in ["link", "img", "iframe", "object", "embed", "base", "image", "use", "form"] {
        assert_eq!(parsed.count(element), 0, "an element {element}");
    }
    for word in ["http:", "https:", "//", "url(", "@import", "image-set(", "src("] {
        assert!(!parsed.style.contains(word), "{word} in the style sheet");
    }
    for word in ["http:", "https:", "import", "fetch(", "XMLHttp", "eval(", "innerHTML"] {
        assert!(!parsed.script.contains(word), "{word} in the script");
    }
    let ids: Vec<&str> = parsed.values("id").collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len(), "ids are unique");
    for link in parsed.values("href") {
        assert!(ids.contains(&&link[1..]), "{link} leads somewhere");
    }
    for table in parsed.values("data-table") {
        assert!(ids.contains(&table), "the plot's table {table}");
    }
    for value in ["NaN", "inf"] {
        let drawn = ["d", "x", "y", "x1", "x2", "y1", "y2", "width", "height"];
        assert!(drawn.iter().all(|key| parsed.values(key).all(|v| !v.contains(value))));
    }
    assert!(!parsed.text.contains("NaN"));
    parsed
}

#[test]
fn one_run_has_every_section() {
    let page = page_of(&[Course::ramp("a")]);
    let parsed = checked(&page);
    for id in ["load", "response", "waits", "answers", "generator", "figures", "plan", "counting"] {
        assert!(parsed.values("id").any(|known| known == id), "section {id}");
    }
    for text in [
        "Valid.",
        "shop, ramp to 600",
        "warm-up",
        "p99<250ms",
        "open loop, 100/s for 10s",
        "drain",
        "schedule = \"100/s for 10s, 100/s..600/s in 1m30s, 600/s for 20s\"",
        "503",
        "The host gave 0.8% of its time to others",
    ] {
        assert!(parsed.text.contains(text), "{text}");
    }
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

#[test]
fn runs_of_different_lengths_stand_side_by_side() {
    let short = Course { measured_s: 5, ..Course::quiet("short") };
    let page = page_of(&[Course::ramp("long"), short]);
    let parsed = checked(&page);
    let rate: Vec<_> = parsed.values("data-table").filter(|t| t.starts_with("rate")).collect();
    assert_eq!(rate, ["rate-table-0", "rate-table-1"]);
    let columns: Vec<_> = parsed.values("data-columns").take(2).collect();
    assert_eq!(columns, ["121", "121"], "on the same axis");
}

#[test]
fn runs_of_one_name_are_told_apart() {
    let parsed = checked(&page_of(&[Course::ramp("a"), Course::ramp("b")]));
    for text in ["2 runs side by side", "A: shop, ramp to 600", "B: shop, ramp to 600"] {
        assert!(parsed.text.contains(text), "{text}");
    }
}

#[test]
fn seconds_with_a_handful_of_answers_have_dots_and_no_line() {
    let page = page_of(&[Course { rate: (6.0, 6.0), ..Course::quiet("slow") }]);
    let parsed = checked(&page);
    assert!(parsed.text.contains("a second with fewer than 20"));
    let (_, rest) = page.split_once("id=\"percentiles\"").unwrap();
    let (figure, _) = rest.split_once("</figure>").unwrap();
    assert!(figure.contains("class=\"l c3 dots fine\"") && !figure.contains("class=\"l c0\""));
    let busy = page_of(&[Course { rate: (60.0, 60.0), ..Course::quiet("busy") }]);
    let (_, rest) = busy.split_once("id=\"percentiles\"").unwrap();
    let (figure, _) = rest.split_once("</figure>").unwrap();
    assert!(figure.contains("class=\"l c0\"") && figure.contains("class=\"l c3\""));
}

#[test]
fn a_run_without_requests_has_a_page() {
    let parsed = checked(&page_of(&[Course { rate: (0.0, 0.0), ..Course::quiet("empty") }]));
    assert!(parsed.text.contains("Nothing of note: Rate offered and achieved."));
    assert!(parsed.text.contains("0 requests due"));
}

#[test]
fn a_run_without_a_second_has_a_page() {
    let course = Course { killed_after: Some(0), ..Course::quiet("nothing") };
    checked(&page_of(&[course]));
}

#[test]
fn a_run_killed_in_its_first_second_has_a_page() {
    let course = Course { killed_after: Some(1), ..Course::ramp("killed") };
    let parsed = checked(&page_of(std::slice::from_ref(&course)));
    assert!(parsed.text.contains("The run was killed"));
    checked(&page_of(&[course, Course::quiet("other")]));
}

#[test]
fn the_generators_limit_is_the_headline() {
    let parsed = checked(&page_of(&[Course { late_us: 9_000.0, ..Course::ramp("late") }]));
    assert!(parsed.text.contains("Not valid"));
    assert!(parsed.text.contains("not judged"));
}

pub(crate) const HOSTILE: &str = "</title></script></style></pre><script>alert(1)</script>\
     <img src=x onerror=alert(1)>\"' onload='x' &amp; &lt; \u{202e}evil\0 http://evil.example/";

#[test]
fn hostile_text_stays_text() {
    let hostile = Course {
        name: format!("name {HOSTILE}"),
        subject: format!("subject {HOSTILE}"),
        plan: format!("plan {HOSTILE}"),
        warnings: vec![format!("warning {HOSTILE}")],
        ..Course::ramp("hostile")
    };
    let plain = checked(&page_of(&[Course::ramp("hostile")]));
    let parsed = checked(&page_of(std::slice::from_ref(&hostile)));
    assert_eq!(parsed.count("script"), 1);
    assert_eq!(parsed.elements.len(), plain.elements.len(), "no element came of the text");
    let seen = HOSTILE.replace(['\u{202e}', '\0'], "\u{fffd}");
    for what in ["name", "subject", "plan", "warning"] {
        assert!(parsed.text.contains(&format!("{what} {seen}")), "{what}");
    }
    let several = checked(&page_of(&[hostile, Course::quiet("other")]));
    assert_eq!(several.count("script"), 1);

    let root = tempfile::tempdir().unwrap();
    let run = Course::quiet("a").write(root.path());
    let titled = document(Source::Runs(&[run]), Some(HOSTILE.to_owned())).unwrap().html();
    assert_eq!(checked(&titled).count("script"), 1);
}

#[test]
fn no_runs_are_an_error_that_says_what_to_do() {
    let Err(error) = document(Source::Runs(&[]), None) else { panic!("no runs have a page") };
    assert!(matches!(error, ReportError::NoRuns));
    assert!(plimsoll_units::failure::told(&error).contains("name at least one run folder"));
}

#[test]
fn a_day_stays_below_two_megabytes() {
    // An hour is drawn in as many columns as a day, give or take.
    let course = Course {
        measured_s: 1_300,
        rate: (2.0, 12.0),
        stall: Some((700, 20)),
        refusing: Some((1100, 1150, 0.1)),
        ..Course::ramp("hour")
    };
    let page = page_of(&[course]);
    checked(&page);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
#[ignore = "writes pages to look at"]
fn make_pages_to_look_at() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let faster = Course { fast_us: 900.0, stall: None, ..Course::ramp("2026-10-27T090000-d4e5f6") };
    let ramp = Course::ramp("2026-10-26T120000-a1b2c3");
    let short = Course { measured_s: 40, ..Course::quiet("2026-10-27T100000-0a1b2c") };
    let late = Course { late_us: 9_000.0, ..ramp.clone() };
    let killed = Course { killed_after: Some(1), ..ramp.clone() };
    let day = Course { measured_s: 20_000, rate: (2.0, 6.0), ..ramp.clone() };
    for (name, courses) in [
        ("one", vec![ramp.clone()]),
        ("two", vec![ramp.clone(), faster.clone()]),
        ("three", vec![ramp, faster, short]),
        ("late", vec![late]),
        ("killed", vec![killed]),
        ("empty", vec![Course { rate: (0.0, 0.0), ..Course::quiet("empty") }]),
        ("day", vec![day]),
    ] {
        std::fs::write(folder.join(format!("{name}.html")), page_of(&courses)).unwrap();
    }
}
