//! Runs that version 0.1 kept before `rate` had the meaning that it has: five runs of each kind, an
//! experiment, one that was ended, and a series. They are read, compared and reported as they were
//! (`tests/golden/runs-0.1`: the folder of runs, and what that version said of each).

use crate::place::Place;
use plimsoll_testing::Weight;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What version 0.1 kept: each of its runs by what it is, and what that version said of it.
struct Kept {
    place: Place,
}

impl Kept {
    fn new() -> Self {
        let place = Place::weighing(Weight::COMPUTES);
        let runs = golden().join("runs.tar.gz");
        let unpack = place.command("tar", &["-xzf", runs.to_str().unwrap()]);
        place.start(unpack).wait().ended_with(0);
        Self { place }
    }

    /// The path of a run, by the word by which its name ends.
    fn run(&self, ends: &str) -> String {
        let all = self.place.runs("runs");
        let is = |path: &&PathBuf| path.to_str().unwrap().ends_with(ends);
        all.iter().find(is).unwrap_or_else(|| panic!("{ends}")).display().to_string()
    }

    /// The same of one that that version called so by its kind.
    fn named(&self, kind: &str) -> String {
        let names = std::fs::read_to_string(golden().join("names.txt")).unwrap();
        let line = names.lines().find_map(|line| line.strip_prefix(&format!("{kind} ")));
        self.run(line.unwrap_or_else(|| panic!("{kind}")))
    }
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/runs-0.1")
}

/// What of a document stands in an earlier one too: later versions say more.
fn said_of(now: &Value, before: &Value) -> Value {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) => {
            let both =
                before.iter().filter_map(|(key, of)| Some((key, said_of(now.get(key)?, of))));
            both.map(|(key, value)| (key.clone(), value)).collect()
        }
        (Value::Array(now), Value::Array(before)) if now.len() == before.len() => {
            now.iter().zip(before).map(|(now, before)| said_of(now, before)).collect()
        }
        _ => now.clone(),
    }
}

#[test]
fn they_say_what_they_said() {
    let kept = Kept::new();
    for kind in [
        "load",
        "users",
        "search",
        "pool",
        "series-1",
        "series-2",
        "experiment",
        "caches",
        "unfinished",
    ] {
        let path = kept.named(kind);
        let is_one = kept.place.path(&path).join("run.sqlite").exists();
        let words: &[&str] = if is_one { &["runs", "show"] } else { &["analyse"] };
        let code = if kind == "unfinished" { 4 } else { 0 };
        let now = kept.place.plimsoll(&[words, &[&path, "--json"]].concat());
        let now = now.ended_with(code).json();
        let before = std::fs::read(golden().join(format!("{kind}.json"))).unwrap();
        let before: Value = serde_json::from_slice(&before).unwrap();
        assert_eq!(said_of(&now, &before), before, "{kind}");
    }
}

#[test]
fn they_are_listed_compared_exported_and_reported() {
    let kept = Kept::new();
    let listed = kept.place.plimsoll(&["runs", "list", "--json"]).ended_with(0).json();
    let text = listed.to_string();
    for kind in ["load", "users", "search", "pool", "experiment", "caches", "unfinished"] {
        let path = kept.named(kind);
        let id = path.rsplit('/').next().unwrap();
        assert!(text.contains(id), "{kind}: {text}");
        kept.place.plimsoll(&["report", &path, "-o", "page.html"]).ended_with(0);
        let page = std::fs::read_to_string(kept.place.path("page.html")).unwrap();
        assert!(page.contains(id) && page.contains("</html>"), "{kind}");
        kept.place.plimsoll(&["export", &path, "-o", "rows.csv"]).ended_with(0);
    }
    let loads = [kept.named("load"), kept.named("users")];
    kept.place.plimsoll(&["report", &loads[0], &loads[1], "-o", "both.html"]).ended_with(0);
    let experiment = kept.named("experiment");
    kept.place.start(kept.place.command("cp", &["-r", &experiment, "runs/copy"])).wait();
    let same = kept.place.plimsoll(&["compare", &experiment, "runs/copy"]).ended_with(0);
    same.prints(&["not worse"]);
}

/// Cells are known by all that they depend on, of which the folder is no part any more: an
/// experiment that version 0.1 left is begun anew, or gone on with by `--adopt`, and that is said.
#[test]
fn one_that_was_left_is_gone_on_with_where_that_is_asked_for() {
    let kept = Kept::new();
    let path = kept.named("unfinished");
    let plan = std::fs::read_to_string(golden().join("unfinished.toml")).unwrap();
    kept.place.write("unfinished.toml", plan);
    let run = ["run", "unfinished.toml", "--simulated", "--json"];
    let done = kept.place.plimsoll(&run).ended_with(2);
    done.says(&["go on with", "this program, is another one", "--new", "--adopt"]);
    assert!(!done.err.contains("folder: "), "{}", done.err);
    let before = kept.place.runs("runs").len();
    let adopted = kept.place.plimsoll(&[&run[..], &["--adopt"]].concat()).ended_with(0).json();
    assert_eq!(adopted["experiment"]["cells_done"], 60);
    assert!(path.ends_with(adopted["experiment"]["id"].as_str().unwrap()));
    assert_eq!(kept.place.runs("runs").len(), before);
}
