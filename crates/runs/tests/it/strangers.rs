//! Folders that somebody else has made, or a copy that broke off: nothing in them is executed, and
//! what is missing is said.

use std::fs;
use std::path::Path;

use plimsoll_runs::export::{Format, export};
use plimsoll_runs::{Ended, Phase, Run, RunError, RunWriter, Sink as _, Tag, index};
use rusqlite::Connection;

use crate::made;

#[track_caller]
fn is_damaged(error: &RunError, file: &str, place: &str) {
    let RunError::Damaged { path, at, .. } = error else { panic!("{error}") };
    assert!(path.ends_with(file) && at == place, "{error}");
}

#[test]
fn what_a_schema_would_execute_is_refused_by_its_name() {
    for (name, sql) in [
        (
            "view meta",
            "ALTER TABLE meta RENAME TO meta2; CREATE VIEW meta AS WITH RECURSIVE c(x) AS \
             (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS key, x AS value FROM c",
        ),
        ("trigger t", "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM meta; END"),
        ("virtual table v", "CREATE VIRTUAL TABLE v USING fts5(a)"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let path = made::whole(root.path(), "a").path().to_path_buf();
        let file = path.join("run.sqlite");
        let changed = Connection::open(&file).unwrap().execute_batch(sql);
        if changed.is_err() && name.starts_with("virtual") {
            // This SQLite has no such module, so nobody's can be read by it either.
            continue;
        }
        changed.unwrap();
        is_damaged(&Run::open(&path).unwrap_err(), "run.sqlite", name);
        let listing = index::list(root.path()).unwrap();
        assert_eq!((listing.runs.len(), listing.unreadable.len()), (0, 1));
    }
}

#[test]
fn a_value_that_fills_the_memory_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = made::whole(root.path(), "a").path().to_path_buf();
    // A stored column that is computed whenever it is read.
    let sql = "ALTER TABLE meta RENAME TO old; CREATE TABLE meta (key TEXT PRIMARY KEY, kept TEXT, \
               value TEXT AS (iif(key = 'name', hex(zeroblob(50000000)), kept)) VIRTUAL); \
               INSERT INTO meta (key, kept) SELECT key, value FROM old; DROP TABLE old";
    Connection::open(path.join("run.sqlite")).unwrap().execute_batch(sql).unwrap();
    let error = Run::open(&path).unwrap_err();
    assert!(matches!(error, RunError::Database { .. }), "{error}");
}

/// A database is what lies there: a link to one elsewhere is none.
#[test]
fn a_database_is_opened_over_no_link() {
    let (root, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = made::whole(root.path(), "a").path().to_path_buf();
    let (file, moved) = (path.join("run.sqlite"), there.path().join("run.sqlite"));
    fs::rename(&file, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &file).unwrap();
    assert!(matches!(Run::open(&path).unwrap_err(), RunError::Database { .. }));
    // Its folder may be reached by one.
    fs::rename(&moved, &file).unwrap();
    let link = there.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(Run::open(&link).unwrap().summary().unwrap().completed, 400);
}

fn hgrm(run: &Run) -> Result<(), RunError> {
    export(run, Format::Hgrm, &mut Vec::new())
}

#[test]
fn a_log_that_was_cut_or_is_gone_is_no_distribution() {
    let root = tempfile::tempdir().unwrap();
    let path = made::whole(root.path(), "a").path().to_path_buf();
    let file = path.join("latency.hlog");
    let whole = fs::read(&file).unwrap();
    hgrm(&Run::open(&path).unwrap()).unwrap();
    for left in [Some(whole.len() - 1), Some(whole.len() / 2), Some(0), None] {
        match left {
            Some(len) => fs::write(&file, &whole[..len]).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let _ = fs::remove_file(path.join("summary.json"));
        let run = Run::open(&path).unwrap();
        let place = format!("byte {}", left.unwrap_or(0));
        is_damaged(&hgrm(&run).unwrap_err(), "latency.hlog", &place);
        let error = run.histogram(Phase::Measured, Tag::Response).unwrap_err();
        is_damaged(&error, "latency.hlog", &place);
        let summary = run.summary().unwrap();
        assert_eq!((summary.completed, summary.response_us.count), (400, 0));
        let says = |text: &String| text.contains("no percentile is told");
        assert!(summary.warnings.iter().any(says), "{:?}", summary.warnings);
    }
    fs::write(&file, &whole).unwrap();
    let _ = fs::remove_file(path.join("summary.json"));
    assert_eq!(Run::open(&path).unwrap().summary().unwrap().response_us.count, 400);
}

#[test]
fn samples_that_were_cut_or_are_gone_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut meta = made::meta("a", 0, 1);
    meta.load.as_mut().unwrap().samples = true;
    let mut writer = RunWriter::create(root.path(), &meta).unwrap();
    let samples: Vec<_> = (0..3000).map(crate::samples::ordinary).collect();
    writer.interval(&made::second(0)).unwrap();
    writer.samples(&samples).unwrap();
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let file = run.path().join("artifacts/samples.bin");
    let whole = fs::read(&file).unwrap();
    assert_eq!(run.samples().unwrap().unwrap().count(), 3000);
    for len in [whole.len() - 1, whole.len() / 2, 0] {
        fs::write(&file, &whole[..len]).unwrap();
        is_damaged(&refused(&run), "artifacts/samples.bin", &format!("byte {len}"));
    }
    fs::remove_file(&file).unwrap();
    is_damaged(&refused(&run), "artifacts/samples.bin", "byte 0");
    // What does not say how much there was is an older run.
    let database = Connection::open(run.path().join("run.sqlite")).unwrap();
    database.execute("DELETE FROM meta WHERE key = 'samples_bytes'", []).unwrap();
    drop(database);
    assert!(Run::open(run.path()).unwrap().samples().unwrap().is_none());
}

fn refused(run: &Run) -> RunError {
    match Run::open(Path::new(run.path())).unwrap().samples() {
        Err(error) => error,
        Ok(_) => panic!("it is read"),
    }
}
