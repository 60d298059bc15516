//! What has been run can be listed, shown, exported and reported.

use crate::place::Place;
use plimsoll_testing::Weight;

#[test]
fn runs_are_listed_shown_exported_and_reported() {
    let place = Place::new();
    let target = place.calm();
    let empty = place.plimsoll(&["runs", "list"]).ended_with(0);
    assert!(empty.err.contains("no runs in runs"), "{}", empty.err);
    for name in ["first", "second"] {
        let url = target.url();
        place.load(&[&url, "--rate", "30/s", "--for", "2s", "--name", name]).ran();
    }
    let runs = place.runs("runs");
    let (run, id) = (runs[0].to_str().unwrap(), runs[0].file_name().unwrap().to_str().unwrap());

    let list = place.plimsoll(&["runs", "list"]).ended_with(0).out;
    assert!(list.contains(id) && list.contains("first: http://"), "{list}");
    let list = place.plimsoll(&["runs", "list", "--json"]).ended_with(0).json();
    let listed = list["runs"].as_array().unwrap();
    assert_eq!(listed.len(), runs.len());
    assert_eq!((&listed[0]["id"], &listed[0]["offered"]), (&id.into(), &60.into()));
    // The index is only a help: lost or damaged, it is made again.
    std::fs::write(place.path("runs/index.sqlite"), "no database").unwrap();
    assert_eq!(place.plimsoll(&["runs", "list", "--json"]).ended_with(0).json(), list);
    std::fs::remove_file(place.path("runs/index.sqlite")).unwrap();
    assert_eq!(place.plimsoll(&["runs", "list", "--json"]).ended_with(0).json(), list);

    let shown = place.plimsoll(&["runs", "show", run]).ended_with(0).out;
    for part in ["60 offered (30/s)", "response", "service", "generator", "host"] {
        assert!(shown.contains(part), "`{part}` is not in:\n{shown}");
    }
    exports(&place, run);
    let other = runs[1].to_str().unwrap();
    let place_of = place.plimsoll(&["report", run, other, "-o", "two.html"]).ended_with(0).out;
    assert_eq!(place_of, "two.html\n");
    let page = std::fs::read_to_string(place.path("two.html")).unwrap();
    assert_page(&page);
    assert!(page.contains("first") && page.contains("second"), "both runs are named");
    place.plimsoll(&["report", run]).ended_with(0);
    assert_page(&std::fs::read_to_string(runs[0].join("artifacts/report.html")).unwrap());

    let missing = place.plimsoll(&["runs", "show", "runs/none"]).ended_with(2);
    missing.says(&["failed to find a run in runs/none", "hint: name a folder"]);
    place.plimsoll(&["report", "runs/none"]).ended_with(2);
    place.plimsoll(&["report", run, "-o", "no/such/page.html"]).ended_with(4);
    place.plimsoll(&["export", run, "--format", "xml"]).ended_with(2).says(&["csv, json, hgrm"]);
}

fn exports(place: &Place, run: &str) {
    let csv = place.plimsoll(&["export", run]).ended_with(0).out;
    let mut lines = csv.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!(rows.len() >= 2, "{csv}");
    assert!(rows.iter().all(|row| row.len() == heads.len()), "{csv}");
    let column = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let sum = |name: &str| rows.iter().map(|row| row[column(name)].parse::<u64>().unwrap()).sum();
    let (offered, completed): (u64, u64) = (sum("offered"), sum("completed"));
    assert_eq!((offered, completed), (60, 60));

    let json = place.plimsoll(&["export", run, "--format", "json", "-o", "run.json"]);
    assert_eq!(json.ended_with(0).out, "");
    let json = std::fs::read_to_string(place.path("run.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["intervals"].as_array().unwrap().len(), rows.len());
    assert_eq!(json["summary"]["offered"], 60);

    let hgrm = place.plimsoll(&["export", run, "--format", "hgrm"]).ended_with(0).out;
    assert!(hgrm.trim_start().starts_with("Value"), "{hgrm}");
    assert!(hgrm.contains("Total count") && hgrm.contains("60"), "{hgrm}");
}

/// Fails unless a page stands alone: nothing in it is fetched from elsewhere.
#[track_caller]
fn assert_page(page: &str) {
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    assert!(page.trim_end().ends_with("</html>"), "cut short");
    for attribute in ["src=", "href=", "action=", "srcset=", "poster="] {
        for (at, _) in page.match_indices(attribute) {
            let value = page[at + attribute.len()..].trim_start_matches(['"', '\'']);
            let inside = value.starts_with('#') || value.starts_with("data:");
            assert!(inside, "{}", &page[at..page.len().min(at + 100)]);
        }
    }
    for fetched in ["<link", "<iframe", "@import", "url(http", "url(//", "fetch(", "<base"] {
        assert!(!page.contains(fetched), "{fetched} in the page");
    }
}

#[test]
fn a_report_is_written_along_with_a_run() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let done = place.load(&[&url, "--rate", "20/s", "--for", "1s", "--report", "page.html"]);
    done.ran().says(&["report: page.html"]);
    assert_page(&std::fs::read_to_string(place.path("page.html")).unwrap());
}

#[test]
fn names_cannot_break_out_of_the_page() {
    let place = Place::new();
    let target = place.calm();
    let evil = "</title><script src=https://example.invalid/x.js></script>";
    let url = format!("{}?q=%3Cscript%3E&x='\"", target.url());
    let url = url.replace('"', "%22");
    place.load(&[&url, "--rate", "20/s", "--for", "1s", "--name", evil]).ran();
    let run = place.run();
    place.plimsoll(&["report", run.to_str().unwrap(), "-o", "page.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(!page.contains("<script src"), "a name became a script");
    assert!(page.contains("&lt;/title&gt;"), "the name is shown as it is");
}

#[test]
fn completions_know_the_commands() {
    let place = Place::weighing(Weight::WAITS);
    for shell in ["bash", "zsh", "fish"] {
        let script = place.plimsoll(&["completions", shell]).ended_with(0).out;
        for word in ["plimsoll", "load", "target", "compare", "pacing"] {
            assert!(script.contains(word), "`{word}` is not in the script for {shell}");
        }
    }
    place.plimsoll(&["completions", "tcsh"]).ended_with(2).says(&["bash"]);
    let file = place.write("script.bash", place.plimsoll(&["completions", "bash"]).out);
    let parsed = place.start(place.command("bash", &["-n", file.to_str().unwrap()])).wait();
    parsed.ended_with(0);
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let place = Place::weighing(Weight::WAITS);
    let script = format!("{} load --help | head -n 1", crate::program::PLIMSOLL);
    let script =
        format!("set -o pipefail; {script}; {} completions bash | true", crate::program::PLIMSOLL);
    let done = place.start(place.command("bash", &["-c", &script])).wait();
    assert!(!done.err.contains("panicked"), "{}", done.err);
}
