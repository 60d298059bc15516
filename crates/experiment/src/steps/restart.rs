//! Restarting the target between two searches: a command of the user's, and waiting until the
//! target answers again.
//!
//! The command is run by `sh -c` in the working folder, in a process group of its own, so that an
//! interrupt at the terminal does not leave the server half restarted. What it says on standard
//! error goes to a file rather than to a pipe: a server that it leaves running would otherwise be
//! ended by the first line it writes after us. The target answers when one request of the plan has
//! succeeded, sent as the search sends them.

use crate::control::{Control, Wish};
use crate::error::{ExperimentError, RestartError};
use crate::prepare::Prepared;
use plimsoll_load::clock::Clock;
use plimsoll_load::run::{Offer, RunError, Watch, run};
use plimsoll_load::{Config, Pacing, SLICE_NS, SessionError, Times};
use plimsoll_runs::{Event, Interval, Sample, Sink, SinkError};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::schedule::Schedule;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How often an end, and an interrupt, are looked for.
const STEP: Duration = Duration::from_millis(20);
/// How long is waited after an attempt that had no answer.
const PAUSE: Duration = Duration::from_millis(100);
/// The most bytes at the end of what a command said that are looked at for its last line.
const MOST_SAID: u64 = 4096;
/// The most characters of that line that are told.
const MOST_TOLD: usize = 200;

/// How the target is restarted.
#[derive(Debug, Clone, Copy)]
pub struct Restart<'a> {
    /// The command.
    pub command: &'a str,
    /// How long it may take; and then how long the target, until it answers.
    pub limit: Duration,
    /// The file that what it says on standard error is added to.
    pub log: &'a Path,
}

/// How a restart went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restarted {
    /// The target answers.
    Answers,
    /// The command succeeded, but the target had not answered in time.
    Silent,
    /// The user ended it.
    Interrupted,
}

/// Restarts the target of a plan, and waits until it answers.
///
/// # Errors
/// [`RestartError`]: the command failed or took too long, or the engine cannot ask.
pub fn restart(
    prepared: &Prepared,
    how: &Restart<'_>,
    control: &dyn Control,
) -> Result<Restarted, RestartError> {
    if command(how, control)? == Wish::Abort || control.wish() != Wish::Continue {
        return Ok(Restarted::Interrupted);
    }
    let clock = Clock::start();
    let limit_ns = nanoseconds(how.limit);
    loop {
        let left_ns = limit_ns.saturating_sub(clock.now());
        if left_ns == 0 {
            return Ok(Restarted::Silent);
        }
        if answers(&prepared.config, left_ns, control).map_err(Box::new)? {
            return Ok(Restarted::Answers);
        }
        if control.wish() != Wish::Continue {
            return Ok(Restarted::Interrupted);
        }
        pause(PAUSE);
    }
}

/// Runs the command to its end. A first interrupt lets it end, [`Wish::Abort`] ends it.
fn command(how: &Restart<'_>, control: &dyn Control) -> Result<Wish, RestartError> {
    let failed = |source| RestartError::Log { path: how.log.to_owned(), source };
    let mut options = OpenOptions::new();
    let mut log = options.create(true).append(true).read(true).open(how.log).map_err(failed)?;
    let began = log.seek(SeekFrom::End(0)).map_err(failed)?;
    let mut child = start(how.command, log.try_clone().map_err(failed)?)?;
    let clock = Clock::start();
    let limit_ns = nanoseconds(how.limit);
    loop {
        if let Some(status) = child.try_wait().map_err(RestartError::Run)? {
            if status.success() {
                return Ok(Wish::Continue);
            }
            return Err(RestartError::Failed { how: ending(status), said: said(&mut log, began) });
        }
        if clock.now() > limit_ns {
            end(&mut child);
            return Err(RestartError::TooLong { limit: how.limit, said: said(&mut log, began) });
        }
        if control.wish() == Wish::Abort {
            end(&mut child);
            return Ok(Wish::Abort);
        }
        pause(STEP);
    }
}

#[expect(clippy::disallowed_methods, reason = "the command is the user's own, given for this")]
fn start(text: &str, said: File) -> Result<Child, RestartError> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(text).stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    command.process_group(0).spawn().map_err(RestartError::Run)
}

/// Ends a command with all that it has started.
fn end(child: &mut Child) {
    // It may just have ended by itself.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

/// The last line that was said since a place in the file, with a colon before it.
fn said(log: &mut File, began: u64) -> String {
    let end = log.seek(SeekFrom::End(0)).unwrap_or(began);
    let from = began.max(end.saturating_sub(MOST_SAID));
    let mut bytes = Vec::new();
    let read =
        log.seek(SeekFrom::Start(from)).and_then(|_| log.take(MOST_SAID).read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    last.map_or_else(String::new, |line| {
        format!(": {}", line.chars().take(MOST_TOLD).map(shown).collect::<String>())
    })
}

/// Whether the target answers one request with success, within a time.
fn answers(config: &Config, left_ns: u64, control: &dyn Control) -> Result<bool, ExperimentError> {
    let before = u32::from(!config.connection_per_request);
    let config = Config {
        connections: (before, 1),
        streams_per_connection: 1,
        threads: 1,
        pacing: Pacing::Thrifty,
        timeout_ns: config.timeout_ns.min(left_ns),
        drain_ns: config.timeout_ns.min(left_ns),
        measured_from_ns: 0,
        renew_ns: None,
        samples: false,
        ..config.clone()
    };
    let second = Schedule::constant(1e9 / SLICE_NS as f64, SLICE_NS)?;
    let parts = vec![Times::Schedule(Arc::new(second), Arrivals::Even)];
    let offer = Offer::Open { parts, limit: Some(1) };
    let mut heard = Heard { succeeded: 0 };
    let mut wishes = Wishes(control);
    // A thread of its own, as it gives way to the engine's threads.
    let ended = std::thread::scope(|scope| {
        let thread = scope.spawn(|| run(&config, &offer, &mut heard, &mut wishes));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    match ended {
        Ok(_) | Err(RunError::Session(SessionError::Unreachable { .. })) => Ok(heard.succeeded > 0),
        Err(error) => Err(error.into()),
    }
}

/// Counts what succeeded.
struct Heard {
    succeeded: u64,
}

impl Sink for Heard {
    fn interval(&mut self, interval: &Interval) -> Result<(), SinkError> {
        self.succeeded += interval.events.succeeded;
        Ok(())
    }

    fn samples(&mut self, _: &[Sample]) -> Result<(), SinkError> {
        Ok(())
    }

    fn event(&mut self, _: &Event) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Hands on what the user wishes.
struct Wishes<'a>(&'a dyn Control);

impl Watch for Wishes<'_> {
    fn watch(&mut self, _: &Interval, _: bool) -> Wish {
        self.wish()
    }

    fn wish(&mut self) -> Wish {
        match self.0.wish() {
            Wish::Continue | Wish::End => Wish::Continue,
            Wish::Stop | Wish::Abort => Wish::Abort,
        }
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "waits for the end of a process, between searches")]
fn pause(span: Duration) {
    std::thread::sleep(span);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::News;

    /// Wishes for the same all the time.
    struct Always(Wish);

    impl Control for Always {
        fn tell(&self, _: News<'_>) {}

        fn wish(&self) -> Wish {
            self.0
        }
    }

    fn run_one(text: &str, limit_ms: u64, wish: Wish) -> (Result<Wish, RestartError>, String) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("day.restart.log");
        std::fs::write(&log, "of the restart before\n").unwrap();
        let limit = Duration::from_millis(limit_ms);
        let done = command(&Restart { command: text, limit, log: &log }, &Always(wish));
        (done, std::fs::read_to_string(&log).unwrap())
    }

    #[test]
    fn what_a_command_says_is_kept() {
        let (done, log) = run_one("echo nobody reads this; echo done >&2", 60_000, Wish::Continue);
        assert_eq!(done.unwrap(), Wish::Continue);
        assert_eq!(log, "of the restart before\ndone\n");
    }

    #[test]
    fn a_failure_is_told_with_its_last_line() {
        let said = |text: &str| {
            plimsoll_units::failure::told(&run_one(text, 60_000, Wish::Stop).0.unwrap_err())
        };
        let start = "restart the target: its command ended with ";
        assert_eq!(
            said("echo first >&2; printf 'no such unit\\n\\n' >&2; exit 3"),
            format!("{start}exit code 3: no such unit; try the command by itself")
        );
        assert_eq!(said("exit 7"), format!("{start}exit code 7; try the command by itself"));
        let long = said("printf 'a\\033[1m%01000d' 5 >&2; kill -9 $$");
        assert!(long.starts_with(&format!("{start}signal 9: a\u{fffd}[1m000")), "{long}");
        assert!(long.len() < 300, "{long}");
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_what_it_has_started() {
        // Whether they are gone is seen by the lock that they hold.
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("lock");
        let hangs = format!("flock {0} sleep 100 & flock -w 50 {0} true; wait", lock.display());
        let (done, _) = run_one(&hangs, 300, Wish::Continue);
        assert!(matches!(done, Err(RestartError::TooLong { .. })), "{done:?}");
        let free = format!("flock -w 50 {} true", lock.display());
        assert_eq!(run_one(&free, 60_000, Wish::Continue).0.unwrap(), Wish::Continue);
        assert_eq!(run_one("sleep 100", 60_000, Wish::Abort).0.unwrap(), Wish::Abort);
    }
}
