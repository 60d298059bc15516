//! A worker behind a process of this one, or behind a bus: what it says, and how it ended.

#![expect(clippy::disallowed_methods, reason = "the one place that starts workers")]

use crate::lines::{self, Speaker};
use crate::message::{Answer, GREETING, Greeting, LONGEST, Order};
use crate::start::{At, By, Command as Words, Input, Start};
use plimsoll_load::clock::monotonic_ns;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// So much is kept of what a worker says in its last moments, bytes.
const LAST_WORDS: usize = 2048;

/// What comes of a worker.
#[derive(Debug)]
pub(crate) enum Said {
    /// It says what it is.
    Greeting(Greeting),
    /// It answers; heard at this moment.
    Answer(Answer, u64),
    /// Nothing more can come: it has closed its end, or says what nobody understands.
    Closed(Option<io::Error>),
    /// Its process has ended.
    Exited(ExitStatus),
}

/// A worker, as it is spoken to.
pub(crate) struct Child {
    speaker: Option<Speaker>,
    way: Way,
}

/// What is behind a worker.
enum Way {
    /// A process of this one, and the end of what it writes for people.
    Process(Option<OwnedFd>, LastWords),
    /// A session over a bus.
    #[cfg(feature = "amqp")]
    Bus(crate::bus::Door),
}

/// The end of what a process writes for people.
pub(crate) type LastWords = Arc<Mutex<Vec<u8>>>;

impl Child {
    /// Starts a worker, of which is told under its number.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub(crate) fn start(
        start: &Start,
        number: usize,
        said: &SyncSender<(usize, Said)>,
    ) -> io::Result<Self> {
        match &start.by {
            By::Command(words) => Self::of_process(words, number, said),
            #[cfg(feature = "amqp")]
            By::Bus(called) => Self::of_bus(called, number, said),
        }
    }

    fn of_process(
        words: &Words,
        number: usize,
        said: &SyncSender<(usize, Said)>,
    ) -> io::Result<Self> {
        let copy = words.copy.as_ref().map(File::open).transpose()?;
        let mut process = command(words)?.spawn()?;
        let handle = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        let handle = handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let (errors, last_words) = (process.stderr.take(), LastWords::default());
        let (tell, kept) = (said.clone(), last_words.clone());
        thread::spawn(move || output.map(|output| hear(BufReader::new(output), number, &tell)));
        thread::spawn(move || errors.map(|errors| keep(errors, &kept)));
        let tell = said.clone();
        thread::spawn(move || wait(process, number, &tell));
        let speaker = input.map(|input| Speaker::to(input, || ()));
        if let (Some(speaker), Some(copy)) = (&speaker, copy) {
            // Who does not listen is about to be heard of.
            let _ = speaker.copy(copy);
        }
        Ok(Self { speaker, way: Way::Process(handle, last_words) })
    }

    #[cfg(feature = "amqp")]
    fn of_bus(
        called: &crate::bus::Called,
        number: usize,
        said: &SyncSender<(usize, Said)>,
    ) -> io::Result<Self> {
        let ends = called.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (reader, tell) = (ends.reader, said.clone());
        thread::spawn(move || hear(BufReader::new(reader), number, &tell));
        let speaker = Some(Speaker::to(ends.writer, || ()));
        Ok(Self { speaker, way: Way::Bus(ends.door) })
    }

    /// Whether it is there no more: of one behind a bus nobody hears how its process ended.
    pub(crate) fn is_gone(&self, has_exited: bool, is_closed: bool) -> bool {
        has_exited || (is_closed && !matches!(self.way, Way::Process(..)))
    }

    /// Whether what stands between is away, so that nothing can be heard of it.
    pub(crate) fn is_cut_off(&self) -> bool {
        match &self.way {
            Way::Process(..) => false,
            #[cfg(feature = "amqp")]
            Way::Bus(door) => door.is_cut_off(),
        }
    }

    /// Gives it a file.
    ///
    /// # Errors
    /// Where it does not listen.
    pub(crate) fn give(&self, input: &Input) -> io::Result<()> {
        self.speaker.as_ref().ok_or(io::ErrorKind::BrokenPipe)?.give(input)
    }

    /// How many bytes it has been told.
    pub(crate) fn told_bytes(&self) -> u64 {
        self.speaker.as_ref().map_or(0, Speaker::said_bytes)
    }

    /// Greets it.
    ///
    /// # Errors
    /// Where it does not listen.
    pub(crate) fn greet(&mut self, greeting: &Greeting) -> io::Result<()> {
        self.write(GREETING, greeting)
    }

    /// Tells it what to do.
    ///
    /// # Errors
    /// Where it does not listen.
    pub(crate) fn tell(&mut self, order: &Order) -> io::Result<()> {
        self.write("", order)
    }

    fn write(&mut self, prefix: &str, what: &impl serde::Serialize) -> io::Result<()> {
        self.speaker.as_ref().ok_or(io::ErrorKind::BrokenPipe)?.say(prefix, what)
    }

    /// Tells it nothing more: it ends what it does, and itself.
    pub(crate) fn let_go(&mut self) {
        self.speaker = None;
    }

    /// Ends it at once; one behind a bus ends when it hears that nobody listens.
    pub(crate) fn kill(&self) {
        if let Way::Process(Some(handle), _) = &self.way {
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    }

    /// The last line that it wrote for people; empty where there is none.
    pub(crate) fn last_words(&self) -> String {
        match &self.way {
            Way::Process(_, words) => last_line(words),
            #[cfg(feature = "amqp")]
            Way::Bus(door) => door.last_words(),
        }
    }
}

/// The last line that somebody wrote for people; empty where there is none.
pub(crate) fn last_line(words: &Mutex<Vec<u8>>) -> String {
    let kept = words.lock().unwrap_or_else(PoisonError::into_inner);
    let text = String::from_utf8_lossy(&kept);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or_default().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The command that becomes a worker, with three pipes of ours.
pub(crate) fn command(of: &Words) -> io::Result<Command> {
    let (program, words) = of.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    if let Some(environment) = &of.environment {
        command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
    }
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // What the user's terminal tells this process is not for its workers: it ends them.
    command.process_group(0);
    Ok(command)
}

/// Hears what it says until it says no more.
fn hear(mut output: impl io::BufRead, number: usize, said: &SyncSender<(usize, Said)>) {
    let result = listen(&mut output, number, said);
    let _ = said.send((number, Said::Closed(result.err())));
}

fn listen(
    output: &mut impl io::BufRead,
    number: usize,
    said: &SyncSender<(usize, Said)>,
) -> io::Result<()> {
    let Some(greeting) = lines::greeting(output, GREETING)? else { return Ok(()) };
    let mut is_heard = said.send((number, Said::Greeting(greeting))).is_ok();
    while is_heard {
        let Some(line) = lines::read(output, LONGEST)? else { break };
        let at_ns = monotonic_ns();
        is_heard = said.send((number, Said::Answer(lines::parse(&line)?, at_ns))).is_ok();
    }
    Ok(())
}

/// Keeps the end of what it writes for people.
pub(crate) fn keep(mut errors: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut part = [0; 512];
    while let Ok(length @ 1..) = errors.read(&mut part) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&part[..length]);
        let beyond = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..beyond);
    }
}

fn wait(mut process: Process, number: usize, said: &SyncSender<(usize, Said)>) {
    if let Ok(status) = process.wait() {
        let _ = said.send((number, Said::Exited(status)));
    }
}

/// The exit code of a shell, or of `srun`, whose command a signal has ended, less the signal.
const SIGNALLED: i32 = 128;

/// How a process ended, for a person. `is_short_of_memory`: whether the kernel has ended a process
/// of this group for want of memory meanwhile.
pub(crate) fn ended(
    (status, at): (ExitStatus, At),
    last_words: &str,
    is_short_of_memory: bool,
) -> String {
    let how = match (status.signal(), status.code()) {
        (Some(9), _) if is_short_of_memory => "the kernel killed it for want of memory".to_owned(),
        (Some(signal), _) => format!("signal {signal} ended it"),
        // What stands between says how its command ended.
        (None, Some(code)) if at != At::Here && (1..=64).contains(&(code - SIGNALLED)) => {
            format!("signal {} ended it", code - SIGNALLED)
        }
        // `ssh` has a code of its own for what went wrong with the connection.
        (None, Some(255)) if at == At::OwnHost => "the connection ended".to_owned(),
        (None, Some(code)) => format!("it ended with {code}"),
        (None, None) => "it ended".to_owned(),
    };
    if last_words.is_empty() { how } else { format!("{how}: {last_words}") }
}
