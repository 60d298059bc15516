//! A crash at any moment leaves a run that can be read up to that moment.

use std::fs;
use std::path::Path;

use plimsoll_runs::{Ended, ErrorKind, Phase, Run, RunError, RunWriter, Secrets, Sink as _, Tag};

use crate::made::{self, MS, SECOND};
use crate::mount::Mounted;

/// A copy of a run of six seconds as kill -9 would leave it: its WAL beside it.
fn killed(root: &Path) -> std::path::PathBuf {
    let writer = made::steps(root, "alive");
    let copy = made::crashed(writer.path(), &root.join("killed"));
    assert!(fs::metadata(copy.join("run.sqlite-wal")).unwrap().len() > 0);
    copy
}

#[test]
fn a_killed_run_reads_up_to_its_last_second() {
    let root = tempfile::tempdir().unwrap();
    let run = Run::open(&killed(root.path())).unwrap();
    assert!(!run.is_complete());
    assert_eq!(run.intervals().unwrap().len(), 6);
    let summary = run.summary().unwrap();
    assert_eq!(summary.run.ended, "incomplete");
    assert_eq!((summary.offered, summary.completed), (400, 400));
    assert_eq!(summary.response_us.count, 400);
    assert!(summary.warnings.iter().any(|warning| warning.contains("did not end")));
    // The measured schedule as far as it came.
    assert!(
        (summary.duration_s - 4.0).abs() < 1e-12
            && (summary.rate_mean.unwrap() - 100.0).abs() < 1e-9
    );
    assert!(summary.run.valid);
    // Cut short, nothing is known of the whole program.
    assert_eq!(summary.generator.max_rss_bytes, None);
    assert!((summary.generator.cpu_s - 3.0).abs() < 1e-9, "six half seconds of the workers");
}

#[test]
fn a_writer_that_is_dropped_leaves_what_a_killed_one_does() {
    let root = tempfile::tempdir().unwrap();
    let killed = Run::open(&killed(root.path())).unwrap();
    let writer = made::steps(root.path(), "dropped");
    let path = writer.path().to_path_buf();
    drop(writer);
    let dropped = Run::open(&path).unwrap();
    assert_eq!(dropped.intervals().unwrap(), killed.intervals().unwrap());
    assert_eq!(made::fingerprint(&dropped), made::fingerprint(&killed));
    assert_eq!(dropped.summary().unwrap().run.ended, "incomplete");
}

#[test]
fn a_killed_or_failed_run_accounts_for_every_request_due() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("a", 0, 30)).unwrap();
    let mut interval = made::second(0);
    made::answered(&mut interval, Phase::Measured, 10, MS, 0);
    made::failed(&mut interval, Phase::Measured, 2, ErrorKind::Timeout);
    // Three more were due, of which two were sent; then the lights went out.
    let counters = &mut interval.phases[Phase::Measured as usize].counters;
    counters.offered += 3;
    counters.sent += 2;
    writer.interval(&interval).unwrap();
    let copy = made::crashed(writer.path(), &root.path().join("b"));
    let summary = Run::open(&copy).unwrap().summary().unwrap();
    assert_eq!((summary.offered, summary.sent, summary.completed), (15, 14, 10));
    assert_eq!((summary.errors["cut"], summary.in_flight_at_end), (1, 2));
    assert_eq!((summary.blame.target, summary.blame.environment), (2, 3));
    assert!((summary.duration_s - 1.0).abs() < 1e-12);

    // As when the disk is full: the engine is dropped, and what was under way with it.
    let run = writer.finish(made::end(Ended::Failed("the disk is full".to_owned()))).unwrap();
    let summary = run.summary().unwrap();
    assert_eq!((summary.offered, summary.sent, summary.completed), (15, 14, 10));
    assert_eq!((summary.errors["cut"], summary.in_flight_at_end), (1, 2));
    assert_eq!(summary.warnings, ["failed: the disk is full"]);
}

#[test]
fn a_log_torn_at_any_byte_of_its_last_line_loses_that_line_only() {
    let root = tempfile::tempdir().unwrap();
    let path = killed(root.path());
    let file = path.join("latency.hlog");
    let whole = fs::read(&file).unwrap();
    let text = std::str::from_utf8(&whole).unwrap();
    // The last line is a timer's; tear into the last one that counts requests instead.
    let last = text.rfind("Tag=lateness,").unwrap();
    let end = last + text[last..].find('\n').unwrap() + 1;
    let lateness = |run: &Run| run.histogram(Phase::Measured, Tag::Lateness).unwrap().count();
    let service = |run: &Run| run.histogram(Phase::Measured, Tag::Service).unwrap().count();
    for cut in last..=end {
        fs::write(&file, &whole[..cut]).unwrap();
        let run = Run::open(&path).unwrap();
        assert_eq!(lateness(&run), if cut == end { 400 } else { 300 }, "cut at byte {cut}");
        assert_eq!(service(&run), 400, "cut at byte {cut}");
        let _ = fs::remove_file(path.join("summary.json"));
        let summary = run.summary().unwrap();
        assert_eq!(summary.completed, 400);
        let warned = summary.warnings.iter().any(|warning| warning.contains("latency.hlog"));
        assert!(warned, "cut at byte {cut}: {:?}", summary.warnings);
    }
    // Zeros where the last line should be, as some file systems leave after a power cut.
    let mut zeros = whole[..last].to_vec();
    zeros.resize(whole.len(), 0);
    fs::write(&file, &zeros).unwrap();
    assert_eq!(lateness(&Run::open(&path).unwrap()), 300);
}

#[test]
fn what_the_database_does_not_know_of_is_not_read_from_the_log() {
    let root = tempfile::tempdir().unwrap();
    let path = killed(root.path());
    let file = path.join("latency.hlog");
    let mut bytes = fs::read(&file).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    // Killed between the log's lines and the transaction: the lines of a second that never was.
    let line = text.lines().find(|line| line.starts_with("Tag=response,")).unwrap();
    bytes.extend(format!("{line}\n").bytes());
    fs::write(&file, &bytes).unwrap();
    let run = Run::open(&path).unwrap();
    assert_eq!(run.histogram(Phase::Measured, Tag::Response).unwrap().count(), 400);
}

#[test]
fn damage_in_the_middle_of_the_log_is_named_by_its_line() {
    let root = tempfile::tempdir().unwrap();
    let path = killed(root.path());
    let file = path.join("latency.hlog");
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("Tag=response,")).unwrap();
    for (bad, says) in [
        ("Tag=response,x,1.000,2.000,AAAA", "no time"),
        ("Tag=response", "comma"),
        ("Tag=response,2.000,1.000", "missing"),
        ("Tag=response,2.000,1.000,2.000,!!!!", "base64"),
        ("Tag=response,2.000,1.000,2.000,AAAA", "histogram"),
    ] {
        // As long as it was, so that what follows stays where it was.
        let bad = format!("{bad:width$}", width = lines[at].len());
        let mut damaged: Vec<&str> = lines.clone();
        damaged[at] = &bad;
        fs::write(&file, damaged.join("\n") + "\n").unwrap();
        let error = Run::open(&path).unwrap().histogram(Phase::Measured, Tag::Response);
        let error = error.unwrap_err();
        let RunError::Damaged { at: place, problem, .. } = &error else { panic!("{error}") };
        assert_eq!(place, &format!("line {}", at + 1));
        assert!(problem.contains(says), "{problem}");
    }
}

#[test]
fn a_missing_or_torn_summary_is_made_anew() {
    let root = tempfile::tempdir().unwrap();
    let run = made::whole(root.path(), "a");
    let file = run.path().join("summary.json");
    let kept = fs::read(&file).unwrap();
    let summary = run.summary().unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(run.summary().unwrap(), summary);
    assert_eq!(fs::read(&file).unwrap(), kept, "rebuilt, byte for byte");
    for cut in (0..kept.len()).step_by(97) {
        fs::write(&file, &kept[..cut]).unwrap();
        assert_eq!(run.summary().unwrap(), summary, "torn at byte {cut}");
        assert_eq!(fs::read(&file).unwrap(), kept, "torn at byte {cut}");
    }
}

#[test]
fn a_missing_log_leaves_the_counts() {
    let root = tempfile::tempdir().unwrap();
    let path = killed(root.path());
    fs::remove_file(path.join("latency.hlog")).unwrap();
    let summary = Run::open(&path).unwrap().summary().unwrap();
    assert_eq!((summary.completed, summary.response_us.count), (400, 0));
    assert!(summary.warnings.iter().any(|warning| warning.contains("latency.hlog")));
}

#[test]
fn runs_on_a_read_only_medium_can_be_read() {
    let Some(disk) = Mounted::tmpfs("runs_on_a_read_only_medium_can_be_read", 8192) else {
        return;
    };
    let killed = killed(disk.path());
    // The shared-memory file is what SQLite would have to make.
    fs::remove_file(killed.join("run.sqlite-shm")).unwrap();
    drop(made::whole(disk.path(), "whole"));
    fs::remove_file(disk.path().join("whole/summary.json")).unwrap();
    // A name that a URI would take apart.
    drop(made::steps(disk.path(), "dropped %3f?x#y"));
    disk.make_read_only();

    for (name, ended) in
        [("killed", "incomplete"), ("dropped %3f?x#y", "incomplete"), ("whole", "complete")]
    {
        let run = Run::open(&disk.path().join(name)).unwrap();
        assert_eq!(run.intervals().unwrap().len(), 6, "{name}");
        let summary = run.summary().unwrap();
        assert_eq!((summary.completed, summary.response_us.count), (400, 400), "{name}");
        assert_eq!(summary.run.ended, ended);
    }
    let listing = plimsoll_runs::index::list(disk.path()).unwrap();
    assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
    let names: Vec<&str> = listing.runs.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(names, ["alive", "dropped %3f?x#y", "killed", "whole"]);
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_what_was_written() {
    let Some(disk) = Mounted::tmpfs("a_full_disk_ends_the_run_and_keeps_what_was_written", 640)
    else {
        return;
    };
    let mut meta = made::meta("a", 0, 100_000);
    meta.load.as_mut().unwrap().samples = true;
    let mut writer = RunWriter::create(disk.path(), &meta).unwrap();
    let mut stored = 0;
    let error = loop {
        let mut interval = made::second(stored);
        // Answers all over the range, so that lines are long.
        for n in 0..200 {
            made::answered(&mut interval, Phase::Measured, 1, MS + n * n * 7_919, 0);
        }
        match writer.interval(&interval) {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 100_000, "the disk never filled");
    };
    let chain = format!("{error}: {}", std::error::Error::source(&error).unwrap());
    assert!(chain.contains("a second of the run") && chain.contains("/a/"), "{chain}");
    assert!(chain.contains("full") || chain.contains("No space left"), "{chain}");
    assert!(stored > 10, "only {stored} seconds");
    let path = writer.path().to_path_buf();
    let seconds = usize::try_from(stored).unwrap();

    // While the writer is still there, after it gave up, and when there is room again.
    let check = |path: &Path, ended: &str| {
        let run = Run::open(path).unwrap();
        assert_eq!(run.intervals().unwrap().len(), seconds);
        let summary = run.summary().unwrap();
        assert_eq!((summary.completed, summary.response_us.count), (stored * 200, stored * 200));
        assert_eq!(summary.run.ended, ended);
    };
    check(&path, "incomplete");
    // The end may find room or not; the seconds are there either way.
    let _ = writer.finish(made::end(Ended::Failed("disk full".to_owned())));
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = made::crashed(&path, &elsewhere.path().join("a"));
    let ended = if Run::open(&copy).unwrap().is_complete() { "failed" } else { "incomplete" };
    check(&copy, ended);
}

#[test]
fn a_disk_too_full_to_begin_leaves_no_half_of_a_run() {
    let test = "a_disk_too_full_to_begin_leaves_no_half_of_a_run";
    let Some(disk) = Mounted::tmpfs(test, 64) else { return };
    fs::write(disk.path().join("filler"), vec![1; 40 * 1024]).unwrap();
    let error = RunWriter::create(disk.path(), &made::meta("a", 0, 1)).err().unwrap();
    assert!(error.to_string().contains("/a/"), "{error}");
    assert!(!disk.path().join("a").exists());
}

#[test]
fn an_interrupted_run_is_as_long_as_it_was_offered() {
    let root = tempfile::tempdir().unwrap();
    for (id, measured_ns) in [("told", Some(3 * SECOND)), ("reckoned", None)] {
        let mut writer = RunWriter::create(root.path(), &made::meta(id, 1, 60)).unwrap();
        for k in 0..5 {
            let mut interval = made::second(k);
            let phase = if k == 0 { Phase::WarmUp } else { Phase::Measured };
            if k < 4 {
                made::answered(&mut interval, phase, 10, MS, 0);
            }
            writer.interval(&interval).unwrap();
        }
        let mut end = made::end(Ended::Interrupted);
        (end.measured_ns, end.drain_ns) = (measured_ns, SECOND);
        let summary = writer.finish(end).unwrap().summary().unwrap();
        assert_eq!(summary.run.ended, "interrupted");
        let times = (summary.warmup_s, summary.duration_s, summary.drain_s);
        assert_eq!(times, (1.0, 3.0, 1.0), "{id}");
        assert!((summary.rate_mean.unwrap() - 10.0).abs() < 1e-12);
    }
}

#[test]
fn a_killed_run_still_says_why_requests_failed() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("a", 1, 30)).unwrap();
    let secrets = Secrets::new([b"hunter2".to_vec()]);
    for k in 0..4 {
        let mut interval = made::second(k);
        let phase = if k == 0 { Phase::WarmUp } else { Phase::Measured };
        made::failed(&mut interval, phase, 5, ErrorKind::Status);
        let slice = &mut interval.phases[phase as usize];
        for (nth, word) in
            ["NOPERM hunter2", "OOM", "MOVED 12", "MOVED 9", "fourth"].iter().enumerate()
        {
            let code = [403, 507, 421, 421, 500][nth];
            let at = k * SECOND + nth as u64;
            slice.reasons.note(ErrorKind::Status, Some(code), at, word.as_bytes(), &secrets);
        }
        interval.connect_failed = 2;
        interval.refusals.note(ErrorKind::Connect, None, k * SECOND, b"too many clients", &secrets);
        interval.refusals.note(ErrorKind::Connect, None, k * SECOND, b"too many clients", &secrets);
        writer.interval(&interval).unwrap();
    }
    let copy = made::crashed(writer.path(), &root.path().join("b"));
    let run = Run::open(&copy).unwrap();
    let summary = run.summary().unwrap();
    let told: Vec<_> =
        summary.reasons.iter().map(|cause| (&cause.text[..], cause.count, cause.first_s)).collect();
    // By the phase in which they were due, the first three, each counted over all seconds.
    assert_eq!(told[0], ("NOPERM ***", 3, 1.0));
    assert_eq!((told[1].0, told[2].0, told[2].1, told.len()), ("OOM", "MOVED 12", 6, 3));
    assert_eq!(run.reasons(Phase::WarmUp).unwrap()[2].count, 2);
    assert_eq!(summary.connections.failed, 8);
    let warning = summary.warnings.iter().find(|text| text.contains("attempts to connect"));
    assert!(warning.unwrap().contains("8 of 8") && warning.unwrap().contains(": too many clients"));
    let events: Vec<_> = run.events().unwrap();
    let failed = events.iter().filter(|event| event.kind == "failed").count();
    assert_eq!(failed, 6, "one for each cause and phase: {events:?}");
    assert!(events.iter().any(|event| event.kind == "not connected"));
}
