//! A run that is killed in the middle, at any moment, leaves a folder that opens and whose sums
//! hold.

use crate::full_disk::Mounted;
use crate::json::assert_sums;
use crate::place::{Place, Target, run_folders};
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_runs::{Phase, Run, Tag};
use plimsoll_workload::random::Stream;
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many runs are killed, and how many at a time.
const KILLS: usize = 20;
const AT_ONCE: usize = 10;
/// Where the moments come from.
const SEED: u64 = 20;

#[test]
fn a_run_killed_at_any_moment_opens() {
    let place = Place::new();
    let target = place.calm();
    let mut random = Stream::named(SEED, "moments of death");
    // From right after the start to shortly before the end of 3 s.
    let moments: Vec<f64> = (0..KILLS).map(|_| 0.01 + random.uniform() * 2.8).collect();
    let mut killed = 0;
    for (batch, moments) in moments.chunks(AT_ONCE).enumerate() {
        let (place, target) = (&place, &target);
        let runs: Vec<PathBuf> = std::thread::scope(|scope| {
            let threads: Vec<_> = moments
                .iter()
                .enumerate()
                .map(|(n, &moment)| {
                    let out = format!("runs-{batch}-{n}");
                    scope.spawn(move || kill_one(place, target, &out, moment))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        killed += runs.iter().filter(|run| is_sound(place, run)).count();
    }
    assert!(killed >= KILLS / 2, "only {killed} runs were killed before they ended");
}

/// Kills a run some seconds after its first facts are on disk; returns its folder.
fn kill_one(place: &Place, target: &Target, out: &str, moment: f64) -> PathBuf {
    let url = target.url();
    let arguments = [
        "load",
        &url,
        "--quiet",
        "--rate",
        "40/s",
        "--for",
        "3s",
        "--warm-up",
        "500ms",
        "--samples",
        "--out",
        out,
    ];
    let mut going = place.start(place.command(PLIMSOLL, &arguments));
    let run = wait_for("a run folder", || {
        assert!(!going.has_ended(), "{}", going.err());
        let run = run_folders(&place.path(out)).pop()?;
        run.join("run.sqlite-wal").exists().then_some(run)
    });
    // tidy: allow(waits, the moment of the kill is drawn at random)
    std::thread::sleep(Duration::from_secs_f64(moment));
    going.signal(Signal::KILL);
    going.wait();
    run
}

/// Checks all that can be read of a run; whether it was killed before its end.
fn is_sound(place: &Place, run: &Path) -> bool {
    let path = run.to_str().unwrap();
    let summary = place.plimsoll(&["runs", "show", path, "--json"]).ended_with(0).json();
    assert_sums(&summary);
    let page = format!("{path}.html");
    place.plimsoll(&["report", path, "-o", &page]).ended_with(0);
    place.plimsoll(&["export", path, "--format", "json"]).ended_with(0).json();

    let opened = Run::open(run).unwrap();
    let response = opened.histogram(Phase::Measured, Tag::Response).unwrap().count();
    assert_eq!(summary["response_us"]["count"].as_u64(), Some(response));
    // Of every tag the log may hold one second more than the database, never less.
    let of_log = crate::hlog::counts_by_tag(&run.join("latency.hlog"));
    assert!(of_log.get("response").copied().unwrap_or(0) >= response, "{of_log:?}");
    let samples = opened.samples().unwrap().unwrap();
    assert!(samples.map(|sample| sample.map(|_| 1_u64).unwrap()).sum::<u64>() >= response);

    let root = run.parent().unwrap().to_str().unwrap();
    let list = place.plimsoll(&["runs", "list", "--out", root, "--json"]).ended_with(0).json();
    assert_eq!(list["runs"][0]["ended"], summary["run"]["ended"], "{list}");
    let is_killed = summary["run"]["ended"] == "incomplete";
    if is_killed {
        let warnings = summary["warnings"].to_string();
        assert!(warnings.contains("the run did not end by itself"), "{warnings}");
    } else {
        assert_eq!(summary["run"]["ended"], "complete", "{summary}");
    }
    is_killed
}

#[test]
fn runs_in_a_read_only_place_are_readable() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let finished = ["--rate", "20/s", "--for", "1s", "--json"];
    let summary = place.load(&[&[url.as_str()], &finished[..]].concat()).ran().json();
    let finished = place.run();
    let killed = kill_one(&place, &target, "killed", 1.5);
    let copy = |from: &Path, to: &Path| {
        let paths = [from.to_str().unwrap(), to.to_str().unwrap()];
        place.start(place.command("cp", &["-r", paths[0], paths[1]])).wait().ended_with(0);
    };
    let readable = |run: &Path| {
        let path = run.to_str().unwrap();
        place.plimsoll(&["report", path, "-o", "page.html"]).ended_with(0);
        place.plimsoll(&["export", path, "--format", "json"]).ended_with(0);
        place.plimsoll(&["runs", "show", path, "--json"]).ended_with(0).json()
    };

    // Without the right to write. (Root has it all the same: then this says little.)
    let bare = place.path("bare");
    copy(&finished, &bare);
    std::fs::remove_file(bare.join("summary.json")).unwrap();
    place.start(place.command("chmod", &["-R", "a-w", bare.to_str().unwrap()])).wait();
    assert_eq!(readable(&bare), summary);
    place.start(place.command("chmod", &["-R", "u+w", bare.to_str().unwrap()])).wait();

    // On a read-only medium.
    let disk = place.path("disk");
    let Some(mounted) = Mounted::tmpfs(&disk, 2048) else { return };
    copy(&finished, &disk.join("finished"));
    copy(&killed, &disk.join("killed"));
    std::fs::remove_file(disk.join("finished/summary.json")).unwrap();
    mounted.make_read_only();
    assert_eq!(readable(&disk.join("finished")), summary);
    let cut_short = readable(&disk.join("killed"));
    assert_eq!(cut_short["run"]["ended"], "incomplete", "{cut_short}");
    assert_sums(&cut_short);
    let list = place.plimsoll(&["runs", "list", "--out", "disk", "--json"]).ended_with(0).json();
    assert_eq!(list["runs"].as_array().unwrap().len(), 2, "{list}");
    // The default place for a report is the run's folder, which cannot be written here.
    let path = disk.join("finished");
    let done = place.plimsoll(&["report", path.to_str().unwrap()]).ended_with(4);
    done.says(&["hint: choose a place by -o"]);
}
