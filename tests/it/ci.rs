//! What services for continuous integration read, and the snippets of the manual that they run.

use crate::place::{Place, test_name};
use plimsoll_testing::{Weight, installed};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// What a parser of JUnit files makes of one: `python3`'s own reader of XML.
const READER: &str = "
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
print(root.tag, root.get('tests'), root.get('failures'), root.get('errors'), root.get('skipped'))
for suite in root:
    for case in suite.iter('testcase'):
        kinds = [of.tag for of in case if of.tag != 'system-out'] or ['passed']
        says = ' '.join(filter(None, [of.get('message') or of.text for of in case]))
        print(suite.get('name'), '|', case.get('name'), '|', kinds[0], '|', says)
";

/// The JUnit file of a place, read by another program.
fn junit(place: &Place, file: &str) -> Option<String> {
    installed(&test_name(), "python3")?;
    let read = place.command("python3", &["-c", READER, file]).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    Some(String::from_utf8(read.stdout).unwrap())
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

const FILES: [&str; 4] = ["--junit", "ci.xml", "--markdown", "ci.md"];

#[test]
fn each_clause_is_a_test_case_with_its_figures() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let load = |slo: &str| {
        let all = ["load", &url, "--rate", "20/s", "--for", "1s", "--slo", slo];
        place.plimsoll(&[&all[..], &FILES].concat())
    };
    load("p50<10s, errors<1%").ended_with(0);
    if let Some(text) = junit(&place, "ci.xml") {
        // On a busy machine the run is not valid, which is a test case of its own.
        let valid = "| the run is valid |";
        has(&text, &["testsuites 4 0 0", "| p50<10s | passed", "| errors<1% | passed", valid]);
    }
    let markdown = std::fs::read_to_string(place.path("ci.md")).unwrap();
    has(
        &markdown,
        &["## plimsoll: all held", "| p50&lt;10s | held | measured", "| offered | 20 |"],
    );

    load("p50<1ms, errors<1%").ended_with(3);
    if let Some(text) = junit(&place, "ci.xml") {
        has(&text, &["testsuites 4 1 0", "| p50<1ms | failure | p50<1ms: measured 2", " ms"]);
    }
    let markdown = std::fs::read_to_string(place.path("ci.md")).unwrap();
    has(&markdown, &["## plimsoll: broken", "| p50&lt;1ms | broken | measured 2"]);
}

#[test]
fn a_load_that_could_not_begin_has_its_files_and_a_wrong_one_has_none() {
    let place = Place::weighing(Weight::WAITS);
    let load = ["load", "http://127.0.0.1:1/", "--rate", "5/s", "--for", "1s"];
    place.plimsoll(&[&load[..], &FILES].concat()).ended_with(4);
    if let Some(text) = junit(&place, "ci.xml") {
        has(&text, &["testsuites 1 0 1", "| there is a run | error |", "Connection refused"]);
    }
    let wrong = ["load", "http://127.0.0.1:1/", "--rate", "5", "--junit", "wrong.xml"];
    place.plimsoll(&wrong).ended_with(2);
    assert!(!place.path("wrong.xml").exists());
    let nowhere = place.plimsoll(&[&load[..], &["--junit", "no/such/folder.xml"]].concat());
    nowhere.ended_with(2).says(&["write the JUnit file to no/such/folder.xml"]);
}

#[test]
fn an_experiment_is_told_by_cell() {
    let place = Place::new();
    let target = place.calm();
    let plan = format!(
        "name = \"two rates\"\n[target]\nurl = \"{}\"\n[load]\nrate = \"10/s\"\nfor = \"1s\"\n\
         [measure]\nslo = \"p50<10s\"\n[factor]\n\"load.rate\" = [\"10/s\", \"20/s\"]\n",
        target.url()
    );
    place.write("plan.toml", plan);
    let run = ["run", "plan.toml", "--quiet"];
    place.plimsoll(&[&run[..], &FILES, &["--new"]].concat()).ran();
    if let Some(text) = junit(&place, "ci.xml") {
        has(
            &text,
            &[
                "testsuites 6 0 0",
                "two rates: load.rate=10/s, ",
                "two rates: load.rate=20/s, ",
                "| p50<10s |",
            ],
        );
    }
    let markdown = std::fs::read_to_string(place.path("ci.md")).unwrap();
    has(&markdown, &["| run | verdict | offered |", "| two rates: "]);
}

#[test]
fn a_search_is_told_by_its_estimate() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:10ms", "--workers", "2"]);
    let url = target.url();
    let search = ["capacity", &url, "--slo", "p90<1us", "--max-time", "20s", "--quiet"];
    let done = place.plimsoll(&[&search[..], &FILES].concat());
    done.prints(&["none found"]);
    // On a host so busy that requests are sent late, the generator is the limit, which is no
    // answer to whether the SLO can be held; elsewhere nothing holds it.
    let (code, standing, why) = match done.out.contains("generator limited") {
        true => (5, "error", "generator limited"),
        false => (3, "failure", "slo unreachable"),
    };
    done.ended_with(code);
    if let Some(text) = junit(&place, "ci.xml") {
        has(&text, &[&format!("| a rate holds p90<1us | {standing} |"), why]);
    }
}

/// The text of each step of a page's snippets, by the block that it stands in. Steps that install
/// the program are left out, as it is there.
fn steps(page: &str) -> Vec<Vec<String>> {
    let blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(|block| [github(block), gitlab(block)].concat()).collect()
}

/// What stands under `run: |`.
fn github(block: &str) -> Vec<String> {
    let (mut steps, mut lines, mut name) = (Vec::new(), block.lines().peekable(), "");
    while let Some(line) = lines.next() {
        if let Some(of) = line.trim_start().strip_prefix("- name: ") {
            name = of;
        }
        if line.trim() != "run: |" {
            continue;
        }
        let depth = line.len() - line.trim_start().len();
        let mut text = String::new();
        while let Some(next) = lines.peek() {
            if next.len() - next.trim_start().len() <= depth {
                break;
            }
            text.push_str(lines.next().unwrap().trim_start());
            text.push('\n');
        }
        if name != "Install" {
            steps.push(text);
        }
    }
    steps
}

/// What stands under `script:`, which runs in one shell.
fn gitlab(block: &str) -> Vec<String> {
    let Some((_, script)) = block.split_once("\n  script:\n") else { return Vec::new() };
    let lines = script.lines().map_while(|line| line.strip_prefix("    - "));
    vec![lines.map(|line| format!("{line}\n")).collect()]
}

#[test]
fn the_snippets_of_the_manual_run_under_bash_e() {
    let page = include_str!("../../docs/ci.md");
    let blocks = steps(page);
    assert_eq!(blocks.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1], "{blocks:?}");
    let program = std::path::Path::new(crate::program::PLIMSOLL).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for steps in blocks {
        let place = Place::new();
        let mut groups = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            let file = place.write(&format!("step-{number}.sh"), step);
            let mut command = place.command("bash", &["-e", file.to_str().unwrap()]);
            command.env("PATH", &path).env("GITHUB_STEP_SUMMARY", place.path("summary.md"));
            // What a step leaves behind goes on until the job ends, as it does there.
            let ended = run_in_a_group(command, &mut groups);
            assert_eq!(ended, Some(0), "{step}");
        }
        let summary = std::fs::read_to_string(place.path("plimsoll.md")).unwrap();
        has(&summary, &["## plimsoll: all held"]);
        assert!(place.path("plimsoll.xml").is_file());
        if steps.len() > 1 {
            assert_eq!(std::fs::read_to_string(place.path("summary.md")).unwrap(), summary);
        }
        for group in groups {
            let _ = kill_process_group(group, Signal::TERM);
        }
    }
}

fn run_in_a_group(mut command: Command, groups: &mut Vec<Pid>) -> Option<i32> {
    command.process_group(0).stdin(Stdio::null());
    let mut child = command.spawn().unwrap();
    groups.push(Pid::from_child(&child));
    child.wait().unwrap().code()
}
