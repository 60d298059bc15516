//! Workers that hang, lie and shout: each is named with what it did, and nothing of it is believed.

use plimsoll_fleet::message::Job;
use plimsoll_fleet::{At, By, Command, Fleet, FleetError, Start, Terms};
use plimsoll_load::run::{Engine, Lost};
use plimsoll_load::{Part, Slice};
use plimsoll_testing::skip;
use std::path::Path;
use std::time::Duration;

pub(crate) fn python() -> Option<&'static str> {
    let is_there = Path::new("/usr/bin/python3").is_file();
    if !is_there {
        skip("liars", "python3: /usr/bin/python3 is not there");
    }
    is_there.then_some("/usr/bin/python3")
}

fn job(process: u32, processes: u32) -> Job {
    let part = Part { process, processes, before: process, after: processes - process - 1 };
    Job {
        plan: String::new(),
        part: part.into(),
        threads: 1,
        is_precise: None,
        is_search: false,
        protocol: "HTTP/1.1".to_owned(),
        may_ask: Vec::new(),
    }
}

/// Workers that do as they are told here, each on the host of that name.
fn fleet(folder: &Path, how: &[(&str, &str)]) -> Option<Result<Fleet, FleetError>> {
    let (python, program) = (python()?, concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/worker.py"));
    let slice = folder.join("slice.json");
    std::fs::write(&slice, serde_json::to_string(&Slice::default()).unwrap()).unwrap();
    let slice = slice.display().to_string();
    let count = u32::try_from(how.len()).unwrap();
    let worker = |(number, (how, boot)): (u32, &(&str, &str))| {
        let words = [python, program, how, &slice, boot].map(str::to_owned).to_vec();
        let name = format!("worker {}", number + 1);
        let at = if boot.is_empty() { At::Somewhere } else { At::OwnHost };
        let by = By::Command(Command { words, environment: None, copy: None });
        (Start { name, by, at }, job(number, count))
    };
    let workers = (0..).zip(how).map(worker).collect();
    let terms = Terms {
        workers,
        inputs: Vec::new(),
        version: "1.0",
        system: Path::new("/"),
        lost_after_ns: 60_000_000_000,
        hangs_after_ns: 1_500_000_000,
        measured_from_ns: 0,
        names: 1,
    };
    Some(Fleet::start(terms, || false))
}

/// Goes on until the load is over; what was told of it, and who was lost.
fn over(mut fleet: Fleet) -> (u64, Option<Lost>) {
    let mut slices = 0;
    while !fleet.has_ended() {
        if fleet.next_slice(Duration::from_millis(50)).is_some() {
            slices += 1;
        }
    }
    (slices, fleet.lost())
}

#[test]
fn who_does_not_do_as_he_should_is_lost_with_what_he_did() {
    let folder = tempfile::tempdir().unwrap();
    for (how, cause) in [
        ("hangs", "it hangs: for 1.5 s"),
        ("floods", "it hangs: for 1.5 s"),
        ("out of order", "it told seconds out of their order"),
        ("of the future", "it told of seconds that have not been"),
        ("of unknown names", "it told of a name that the load does not have"),
        ("contradicts itself", "a line that is not understood, `{\"slice\""),
        ("shouts", "a line that is not understood, `Broadcast message: this host"),
        ("endless", "a line above 16777216 bytes"),
        ("greets twice", "a line that is not understood, `plimsoll-worker"),
        ("leaves", "it ended with 3: no more of this"),
    ] {
        let Some(fleet) = fleet(folder.path(), &[("is as it should", ""), (how, "")]) else {
            return;
        };
        let (slices, lost) = over(fleet.unwrap());
        let lost = lost.expect(how);
        assert_eq!(lost.worker, "worker 2", "{how}");
        assert!(lost.cause.starts_with(cause.trim_end_matches(".5 s")), "{how}: {}", lost.cause);
        assert!(slices >= 2, "{how}: what both told is kept");
    }
}

#[test]
fn a_load_does_not_begin_with_who_is_no_worker() {
    let folder = tempfile::tempdir().unwrap();
    let begun = |how: &[(&str, &str)]| {
        let fleet = fleet(folder.path(), how)?;
        Some(fleet.map(drop).expect_err("it began").to_string())
    };
    for (how, said) in [
        ("of another version", "the versions differ: 1.0 (session 4) here, other"),
        ("refuses", "begin with worker 2: not here"),
        ("early", "worker 2: it told of what it was not asked for yet"),
    ] {
        let Some(error) = begun(&[("is as it should", ""), (how, "")]) else { return };
        assert!(error.contains(said), "{how}: {error}");
    }
    // Hosts are told apart by their boot.
    let own = ("is as it should", "one boot");
    let error = begun(&[own, ("is as it should", "another"), own]).unwrap();
    assert!(error.contains("the hosts worker 1 and worker 3 are one"), "{error}");
}
