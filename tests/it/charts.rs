//! The charts of a run and of an experiment as files of their own.

use crate::place::Place;
use std::path::Path;

/// The SVG files of a folder, by name.
fn files(folder: &Path) -> Vec<String> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut all: Vec<String> = all.map(|name| name.into_string().unwrap()).collect();
    all.sort();
    all
}

/// Fails unless a text is well-formed XML: elements nest, and attributes are in quotes.
#[track_caller]
fn assert_well_formed(name: &str, text: &str) {
    let (head, mut rest) = text.split_once("?>\n").unwrap();
    assert!(head.starts_with("<?xml "), "{name}: {head}");
    let mut open: Vec<&str> = Vec::new();
    while let Some(at) = rest.find('<') {
        for entity in rest[..at].split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
            assert!(known.iter().any(|of| entity.starts_with(of)), "{name}: &{entity}");
        }
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{name}"),
            None => {
                assert_eq!(tag.matches('"').count() % 2, 0, "{name}: <{tag}>");
                if !tag.ends_with('/') {
                    open.push(tag.split(' ').next().unwrap());
                }
            }
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{name}: {open:?} {rest:?}");
}

/// Exports the figures of a run or an experiment, and checks each of them.
fn check(place: &Place, of: &str, page: &str, folder: &str) -> Vec<String> {
    let done = place.plimsoll(&["export", of, "--figures", folder]).ended_with(0);
    let names = files(&place.path(folder));
    let page = std::fs::read_to_string(place.path(page)).unwrap();
    assert_eq!(names.len(), page.matches("<figure ").count(), "{names:?}");
    done.says(&[&format!("{} figures in {folder}", names.len())]);
    let mut printed: Vec<&str> = done.out.lines().collect();
    printed.sort_unstable();
    let expected: Vec<String> = names.iter().map(|name| format!("{folder}/{name}")).collect();
    assert_eq!(printed, expected);
    for name in &names {
        let text = std::fs::read_to_string(place.path(folder).join(name)).unwrap();
        assert_well_formed(name, &text);
        let root = text.split_once("<svg ").unwrap().1.split_once('>').unwrap().0;
        for part in ["xmlns=\"http://www.w3.org/2000/svg\"", "width=", "height=", "viewBox="] {
            assert!(root.contains(part), "{name}: <svg {root}>");
        }
        assert!(text.contains("<style>") && !text.contains("var(--"), "{name}");
        for absent in ["<script", "<foreignObject", "@import", "@font-face", "url("] {
            assert!(!text.contains(absent), "{name}: {absent}");
        }
    }
    names
}

#[test]
fn each_chart_of_a_page_becomes_a_file_that_stands_by_itself() {
    let place = Place::new();
    let plan = "[load]\nrate = '20/s'\nfor = '10m'\narrivals = 'poisson'\n[pool]\nmax = 3\n\
                [instance]\nservice = 'exp:70ms'\nlimit = 10\n[policy.all]\nkind = 'fixed'\n\
                [policy.some]\nkind = 'target'\n";
    place.write("plan.toml", plan);
    let simulate = ["simulate", "plan.toml", "--replications", "2", "--out", "days"];
    place.plimsoll(&simulate).ended_with(0);
    let experiment = place.runs("days")[0].display().to_string();
    place.plimsoll(&["report", &experiment, "-o", "days.html"]).ended_with(0);
    let names = check(&place, &experiment, "days.html", "figures");
    assert!(names.len() >= 3, "{names:?}");
    let cell = format!("{experiment}/cells/1");
    place
        .plimsoll(&["report", &format!("{experiment}/cells/0001"), "-o", "cell.html"])
        .ended_with(0);
    check(&place, &cell, "cell.html", "of/a-cell");

    // Once more they are replaced, and other files stay.
    place.write("figures/notes.txt", "mine");
    let first = place.path("figures").join(&names[0]);
    std::fs::write(&first, "old").unwrap();
    place.plimsoll(&["export", &experiment, "--figures", "figures"]).ended_with(0);
    assert!(std::fs::read_to_string(&first).unwrap().starts_with("<?xml"));
    assert_eq!(files(&place.path("figures")).len(), names.len() + 1);

    let refused = place.plimsoll(&["export", &experiment, "--figures", "plan.toml"]).ended_with(2);
    refused.says(&["write figures into plan.toml: it is a file"]);
    assert_eq!(std::fs::read_to_string(place.path("plan.toml")).unwrap(), plan);
    let both = ["export", &experiment, "--figures", "figures", "-o", "x.csv"];
    place.plimsoll(&both).ended_with(2);
}

#[test]
fn the_schema_of_scenarios_is_printed() {
    let place = Place::new();
    let schema = place.plimsoll(&["scenario", "schema"]).ended_with(0).json();
    assert_eq!(schema["title"], "A scenario of Plimsoll");
    assert_eq!(schema["additionalProperties"], false);
    assert!(schema["definitions"]["step"]["properties"]["get"].is_object(), "{schema}");
    let help = place.plimsoll(&["scenario", "schema", "--help"]).ended_with(0).out;
    assert!(help.contains("plimsoll scenario schema > scenario.schema.json"), "{help}");
}
