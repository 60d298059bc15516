//! The index says what the folders say, whatever happens to it.

use std::fs;
use std::path::Path;

use plimsoll_runs::experiment::{ExperimentMeta, Journal, Progress, State};
use plimsoll_runs::index::{self, Headline};
use plimsoll_runs::{Ended, FigureRow, Kind, Phase, RunMeta, RunWriter, Sink as _, World};

use crate::experiment::{cell, meta};
use crate::made::{self, MS};

fn ids(root: &std::path::Path) -> Vec<String> {
    let listing = index::list(root).unwrap();
    assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
    listing.runs.into_iter().map(|entry| entry.id).collect()
}

#[test]
fn a_root_that_is_not_there_holds_no_runs() {
    let root = tempfile::tempdir().unwrap();
    assert!(ids(&root.path().join("none")).is_empty());
    assert!(ids(root.path()).is_empty());
    assert!(!root.path().join("index.sqlite").exists(), "a look leaves nothing behind");
}

#[test]
fn an_entry_tells_the_run_at_a_glance() {
    let root = tempfile::tempdir().unwrap();
    made::whole(root.path(), "a");
    let listing = index::list(root.path()).unwrap();
    let entry = &listing.runs[0];
    assert_eq!((entry.id.as_str(), entry.name.as_str()), ("a", "by hand"));
    assert_eq!(entry.subject, "http://127.0.0.1:8080/");
    assert_eq!(entry.started, "2026-03-01T12:00:00.250Z");
    assert_eq!((entry.ended.as_str(), entry.kind, entry.cells), ("complete", Kind::Load, None));
    let load = entry.load.unwrap();
    assert!(load.valid && (load.rate_mean.unwrap() - 100.0).abs() < 1e-9);
    let p50_us = load.p50_us.unwrap();
    assert!((3990.0..4010.0).contains(&p50_us), "{entry:?}");
    assert_eq!(load.p99_us, None, "four of 400 lie beyond");
    assert_eq!((load.offered, load.failed), (400, 0));
    let name = "response_us.p50".to_owned();
    assert_eq!(entry.headline, Some(Headline { name, low: p50_us, high: p50_us }));
}

#[test]
fn lost_or_damaged_it_is_made_anew() {
    let root = tempfile::tempdir().unwrap();
    made::whole(root.path(), "b");
    made::whole(root.path(), "a");
    let before = index::list(root.path()).unwrap().runs;
    assert_eq!(before.len(), 2);
    let file = root.path().join("index.sqlite");
    fs::remove_file(&file).unwrap();
    assert_eq!(index::list(root.path()).unwrap().runs, before);
    assert!(file.exists());
    // Its pages are lost, its head is not.
    let mut bytes = fs::read(&file).unwrap();
    bytes[100..].fill(0x5a);
    fs::write(&file, &bytes).unwrap();
    assert_eq!(index::list(root.path()).unwrap().runs, before);
    assert_ne!(fs::read(&file).unwrap(), bytes);
    assert_eq!(index::list(root.path()).unwrap().runs, before);
}

#[test]
fn an_index_of_an_older_version_is_made_anew() {
    let root = tempfile::tempdir().unwrap();
    made::whole(root.path(), "a");
    let before = index::list(root.path()).unwrap().runs;
    let file = root.path().join("index.sqlite");
    let version = || -> (i32, i32) {
        let index = rusqlite::Connection::open(&file).unwrap();
        let number = |name| index.pragma_query_value(None, name, |row| row.get(0)).unwrap();
        (number("application_id"), number("user_version"))
    };
    let now = version();
    for change in ["PRAGMA user_version = 1", "PRAGMA application_id = 0; PRAGMA user_version = 2"]
    {
        rusqlite::Connection::open(&file).unwrap().execute_batch(change).unwrap();
        assert_ne!(version(), now);
        assert_eq!(index::list(root.path()).unwrap().runs, before);
        assert_eq!(version(), now);
    }
}

/// Whatever has the index's name and is none of ours is left as it is.
#[test]
fn what_is_no_index_is_not_touched() {
    let root = tempfile::tempdir().unwrap();
    made::whole(root.path(), "a");
    let before = index::list(root.path()).unwrap().runs;
    let file = root.path().join("index.sqlite");
    let other = root.path().join("other.sqlite");
    let make = |path: &Path, sql: &str| {
        let _ = fs::remove_file(path);
        rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
    };
    let mut strangers: Vec<Vec<u8>> = vec![b"notes of mine".to_vec()];
    for sql in [
        "CREATE TABLE run (a); INSERT INTO run VALUES (1)",
        "CREATE TABLE run (id TEXT PRIMARY KEY, stamp TEXT); PRAGMA user_version = 7",
        "CREATE TABLE a (b); PRAGMA user_version = 2",
        "CREATE TABLE a (b); CREATE VIEW run AS SELECT b FROM a; \
         PRAGMA application_id = 1349283187",
        "PRAGMA application_id = 7; CREATE TABLE a (b)",
    ] {
        make(&other, sql);
        strangers.push(fs::read(&other).unwrap());
    }
    strangers.push(fs::read(root.path().join("a/run.sqlite")).unwrap());
    for bytes in strangers {
        fs::write(&file, &bytes).unwrap();
        assert_eq!(index::list(root.path()).unwrap().runs, before);
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
    // Over a link: to another database, to an index elsewhere, to nothing.
    make(&other, "CREATE TABLE run (a); INSERT INTO run VALUES (1)");
    let elsewhere = tempfile::tempdir().unwrap();
    made::whole(elsewhere.path(), "b");
    index::list(elsewhere.path()).unwrap();
    let nothing = elsewhere.path().join("nothing");
    for to in [other, elsewhere.path().join("index.sqlite"), nothing.clone()] {
        let there = fs::read(&to).ok();
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&to, &file).unwrap();
        assert_eq!(index::list(root.path()).unwrap().runs, before);
        index::enter(root.path(), &root.path().join("a"));
        assert_eq!(fs::read(&to).ok(), there, "{}", to.display());
    }
    assert!(!nothing.exists());
}

/// A folder that is reached by a link is a folder all the same.
#[test]
fn a_root_that_is_a_link_has_an_index() {
    let (root, links) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    made::whole(root.path(), "a");
    let link = links.path().join("runs");
    std::os::unix::fs::symlink(root.path(), &link).unwrap();
    assert_eq!(index::list(&link).unwrap().runs.len(), 1);
    assert!(root.path().join("index.sqlite").is_file());
}

#[test]
fn it_is_the_index_that_is_read_where_nothing_changed() {
    let root = tempfile::tempdir().unwrap();
    made::whole(root.path(), "a");
    let mut entry = index::list(root.path()).unwrap().runs.remove(0);
    let index = rusqlite::Connection::open(root.path().join("index.sqlite")).unwrap();
    assert_eq!(index.execute("UPDATE run SET subject = 'marked'", []).unwrap(), 1);
    entry.subject = "marked".to_owned();
    assert_eq!(index::list(root.path()).unwrap().runs, [entry.clone()]);
    // A change of the folder makes the row anew.
    fs::remove_file(root.path().join("a/summary.json")).unwrap();
    entry.subject = "http://127.0.0.1:8080/".to_owned();
    assert_eq!(index::list(root.path()).unwrap().runs, [entry]);
}

#[test]
fn it_follows_folders_that_come_go_and_grow() {
    let root = tempfile::tempdir().unwrap();
    made::whole(root.path(), "a");
    let mut writer = RunWriter::create(root.path(), &made::meta("b", 0, 9)).unwrap();
    assert_eq!(ids(root.path()), ["a", "b"]);
    let mut interval = made::second(0);
    made::answered(&mut interval, Phase::Measured, 70, MS, 0);
    writer.interval(&interval).unwrap();
    let entry = index::list(root.path()).unwrap().runs.remove(1);
    assert_eq!((entry.load.unwrap().offered, entry.ended.as_str()), (70, "incomplete"));
    writer.finish(made::end(Ended::Interrupted)).unwrap();
    assert_eq!(index::list(root.path()).unwrap().runs[1].ended, "interrupted");
    fs::remove_dir_all(root.path().join("a")).unwrap();
    assert_eq!(ids(root.path()), ["b"]);
    fs::rename(root.path().join("b"), root.path().join("renamed")).unwrap();
    assert_eq!(ids(root.path()), ["renamed"]);
}

#[test]
fn what_cannot_be_read_is_named_and_does_not_hide_the_rest() {
    let root = tempfile::tempdir().unwrap();
    made::whole(root.path(), "a");
    fs::create_dir(root.path().join("broken")).unwrap();
    fs::write(root.path().join("broken/run.sqlite"), "nothing of the kind").unwrap();
    fs::create_dir(root.path().join("something else")).unwrap();
    let listing = index::list(root.path()).unwrap();
    assert_eq!(listing.runs.len(), 1);
    assert_eq!(listing.unreadable.len(), 1);
    assert!(listing.unreadable[0].0.ends_with("broken"));
}

#[test]
fn several_runs_may_end_and_be_listed_at_once() {
    let root = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for k in 0..4 {
            let root = root.path();
            scope.spawn(move || {
                for n in 0..3 {
                    made::whole(root, &format!("{k}-{n}"));
                    let listing = index::list(root).unwrap();
                    assert!(listing.runs.iter().any(|entry| entry.id == format!("{k}-{n}")));
                }
            });
        }
    });
    assert_eq!(ids(root.path()).len(), 12);
    // Whoever summed up a run while it was written has not had the last word.
    for id in ids(root.path()) {
        let text = fs::read(root.path().join(id).join("summary.json")).unwrap();
        let summary: plimsoll_runs::Summary = serde_json::from_slice(&text).unwrap();
        assert_eq!(summary.run.ended, "complete");
    }
    // All of them in the file, too.
    let index = rusqlite::Connection::open(root.path().join("index.sqlite")).unwrap();
    let rows: i64 = index.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 12);
}

#[test]
fn an_experiment_is_one_entry_with_its_cells() {
    let root = tempfile::tempdir().unwrap();
    let about = ExperimentMeta { kind: Kind::Caches, ..meta("e") };
    let mut journal = Journal::create(root.path(), &about).unwrap();
    journal.plan(&[cell(1), cell(2), cell(3)]).unwrap();
    for (n, ratio) in [(1, 0.5), (2, 0.25)] {
        journal.begin(&cell(n), 0).unwrap();
        let run_meta = RunMeta { cell: n, ..made::meta("e/1", 0, 1) };
        drop(RunWriter::create_cell(journal.folder(), &run_meta).unwrap());
        journal.figures(n, &[FigureRow::new("miss_ratio", ratio)]).unwrap();
        journal.end(n, State::Done, "", 0).unwrap();
    }
    journal.begin(&cell(3), 0).unwrap();
    journal.figures(3, &[FigureRow::new("miss_ratio", 0.99)]).unwrap();
    let entry = |ended: &str| {
        let mut listing = index::list(root.path()).unwrap();
        assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
        assert_eq!(listing.runs.len(), 1, "cells are no entries of their own");
        let entry = listing.runs.remove(0);
        assert_eq!((entry.id.as_str(), entry.name.as_str()), ("e", "two rates"));
        assert_eq!((entry.kind, entry.ended.as_str(), entry.load), (Kind::Caches, ended, None));
        assert_eq!(entry.started, "2026-03-01T12:00:00.250Z");
        let headline = entry.headline.clone().unwrap();
        assert_eq!(
            (headline.name.as_str(), headline.low, headline.high),
            ("miss_ratio", 0.25, 0.5)
        );
        entry.cells
    };
    assert_eq!(entry("incomplete"), Some(Progress { done: 2, of: 3 }));
    assert_eq!(entry("incomplete"), Some(Progress { done: 2, of: 3 }), "from the index");
    drop(journal.finish(&Ended::Interrupted, 0).unwrap());
    assert_eq!(entry("interrupted"), Some(Progress { done: 2, of: 3 }));
}

#[test]
fn a_run_without_a_load_lists_without_made_up_rates() {
    let root = tempfile::tempdir().unwrap();
    let (kind, world) = (Kind::Pool, World::Simulated);
    let about = RunMeta { kind, world, load: None, ..made::meta("pool", 0, 10) };
    let mut writer = RunWriter::create(root.path(), &about).unwrap();
    let listed = || index::list(root.path()).unwrap().runs.remove(0);
    assert_eq!((listed().load, listed().headline, listed().cells), (None, None, None));
    writer.figures(&[FigureRow::new("cost", 12.5)]).unwrap();
    drop(writer.finish(made::end(Ended::Complete)).unwrap());
    let entry = listed();
    assert_eq!((entry.load, entry.ended.as_str()), (None, "complete"));
    let headline = Headline { name: "cost".to_owned(), low: 12.5, high: 12.5 };
    assert_eq!((entry.kind, entry.headline), (Kind::Pool, Some(headline)));
    assert_eq!(listed().kind, Kind::Pool, "from the index");
}
