//! The index says what the folders say, whatever happens to it.

use std::fs;

use plimsoll_runs::{Ended, Phase, RunWriter, Sink as _, index};

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
    assert_eq!((entry.ended.as_str(), entry.valid), ("complete", true));
    assert!((entry.rate_mean - 100.0).abs() < 1e-9);
    assert!((3990.0..4010.0).contains(&entry.p50_us.unwrap()), "{entry:?}");
    assert_eq!(entry.p99_us, None, "four of 400 lie beyond");
    assert_eq!((entry.offered, entry.failed), (400, 0));
}

#[test]
fn lost_damaged_or_foreign_it_is_made_anew() {
    let root = tempfile::tempdir().unwrap();
    made::whole(root.path(), "b");
    made::whole(root.path(), "a");
    let before = index::list(root.path()).unwrap().runs;
    assert_eq!(before.len(), 2);
    let file = root.path().join("index.sqlite");
    fs::remove_file(&file).unwrap();
    assert_eq!(index::list(root.path()).unwrap().runs, before);
    assert!(file.exists());
    fs::write(&file, b"this was a database once, or so they say").unwrap();
    assert_eq!(index::list(root.path()).unwrap().runs, before);
    // Another database altogether.
    fs::copy(root.path().join("a/run.sqlite"), &file).unwrap();
    assert_eq!(index::list(root.path()).unwrap().runs, before);
    assert_eq!(index::list(root.path()).unwrap().runs, before);
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
    assert_eq!((entry.offered, entry.ended.as_str()), (70, "incomplete"));
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
