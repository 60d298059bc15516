//! This program's end of what is said to its copy on a host: requests, side by side, each with a
//! limit, and the ledger that the copy has its lines written into.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::command::Words;
use crate::error::TestbedError;
use crate::folder::Bytes;
use crate::route::Route;
use crate::ssh::client::{Connection, Lost, last_line};
use crate::ssh::wire::{Answer, Ask, Deed, next, send};
use crate::thing::Thing;
use crate::time::Deadline;

/// How long an answer may be late, beyond the limit of what was asked: the time of the way, and of
/// a step that ends soon after its deadline.
const LATE: Duration = Duration::from_secs(15);
/// How long the copy may take until it answers at all.
const BEGINS: Duration = Duration::from_secs(20);
/// The most lines that the shell of a host says before the copy begins, and the longest of them.
const MOST_BEFORE: usize = 1000;
const MOST_LINE: u64 = 64 << 10;
/// How long it may take until it has ended.
const ENDS: Duration = Duration::from_secs(2);

/// What is done with what the copy says while it does something.
pub(crate) trait Hears {
    /// Writes that a thing of the host is about to be made. Returns its number.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn will_make(&self, thing: &Thing) -> Result<u64, TestbedError>;

    /// Writes that a thing of the host is gone.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn is_gone(&self, row: u64) -> Result<(), TestbedError>;

    /// Takes what an instance said.
    fn output(&self, instance: &str, text: &str);
}

/// Who waits for answers, by the numbers of requests; `None` when there will be none any more.
type Waiting = Option<BTreeMap<u64, Sender<Answer>>>;

/// The copy of this program on a host, at work.
pub(crate) struct Session {
    host: String,
    child: Mutex<Child>,
    input: Mutex<Option<ChildStdin>>,
    waiting: Arc<Mutex<Waiting>>,
    /// What `ssh` and the copy say beside answers, until the end of it is known.
    errors: Mutex<Errors>,
    last: Mutex<u64>,
    /// Whether it is being ended by us: then its end is no loss.
    is_over: Arc<AtomicBool>,
}

/// Why a session ended.
enum Errors {
    /// It has not ended, or nobody asked why.
    Unheard(Option<Receiver<String>>),
    /// The last line that was said.
    Heard(String),
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Starts the copy at this path of the host, and tells it the first of all.
    ///
    /// # Errors
    /// One that cannot be started, with what it said.
    pub(crate) fn begin(
        connection: &Connection,
        program: &str,
        begin: &Ask,
    ) -> Result<Self, TestbedError> {
        let words = Words::of(&[program, "testbed", "host"]);
        let mut child = connection.start(&words)?;
        let input = child.stdin.take();
        let (route, lost) = (connection.route().clone(), connection.client().lost.clone());
        let host = route.to_string();
        let is_over = Arc::new(AtomicBool::new(false));
        let (waiting, begun) = match child.stdout.take() {
            Some(output) => hear(output, (route, lost), Arc::clone(&is_over)),
            None => (Arc::default(), channel().1),
        };
        let errors = child.stderr.take().map(last_line);
        let session = Self {
            host,
            child: Mutex::new(child),
            input: Mutex::new(input),
            waiting,
            errors: Mutex::new(Errors::Unheard(errors)),
            last: Mutex::new(0),
            is_over,
        };
        session.send(begin, None)?;
        match begun.recv_timeout(BEGINS) {
            Ok(()) => Ok(session),
            Err(_) => Err(session.away()),
        }
    }

    /// Whether the copy can be asked still.
    pub(crate) fn stands(&self) -> bool {
        lock(&self.waiting).is_some()
    }

    /// Has something done, and hears what is said of it.
    ///
    /// # Errors
    /// What failed there, with the host's name; a host that is gone, or answers too late.
    pub(crate) fn ask(
        &self,
        deed: Deed,
        bytes: Option<Bytes<'_>>,
        hears: &dyn Hears,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        let id = {
            let mut last = lock(&self.last);
            *last += 1;
            *last
        };
        let (sends, answers) = channel();
        match &mut *lock(&self.waiting) {
            Some(waiting) => drop(waiting.insert(id, sends)),
            None => return Err(self.away()),
        }
        let within_ms = u64::try_from(deadline.left().as_millis()).unwrap_or(u64::MAX);
        let ask = Ask::Do { id, deed, within_ms };
        let result = std::thread::scope(|threads| {
            // The way may be full for ever: then the process is ended, and the write fails.
            let sent = threads.spawn(move || self.send(&ask, bytes));
            let result = self.until_done(id, &answers, hears, deadline);
            if result.is_err() && !sent.is_finished() {
                let _ = lock(&self.child).kill();
            }
            let sent = sent.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result.and_then(|said| sent.map(|()| said))
        });
        lock(&self.waiting).iter_mut().for_each(|waiting| drop(waiting.remove(&id)));
        result
    }

    /// Takes what is said of a request, until it is done.
    fn until_done(
        &self,
        id: u64,
        answers: &Receiver<Answer>,
        hears: &dyn Hears,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        loop {
            let answer = answers.recv_timeout(deadline.left() + LATE).map_err(|error| {
                if matches!(error, RecvTimeoutError::Timeout) {
                    // Who does not answer in time is not asked again.
                    let _ = lock(&self.child).kill();
                }
                self.away()
            })?;
            let row = match answer {
                Answer::Done { said, .. } => return Ok(said),
                Answer::Failed { why, .. } => {
                    return Err(TestbedError::OnHost { host: self.host.clone(), why });
                }
                Answer::Output { instance, text, .. } => {
                    hears.output(&instance, &text);
                    continue;
                }
                Answer::WillMake { thing, .. } => hears.will_make(&thing),
                Answer::Gone { row, .. } => hears.is_gone(row).map(|()| row),
                Answer::Begun => continue,
            };
            let row = row.map_err(|error| plimsoll_units::failure::chain(&error));
            self.send(&Ask::Written { id, row }, None)?;
        }
    }

    fn send(&self, ask: &Ask, bytes: Option<Bytes<'_>>) -> Result<(), TestbedError> {
        let mut input = lock(&self.input);
        let Some(input) = &mut *input else { return Err(self.away()) };
        let sent = match bytes {
            None => send(input, ask, None),
            // A file that became shorter is filled up: what follows is another request.
            Some(Bytes { from, length, .. }) => {
                send(input, ask, Some(&mut from.chain(std::io::repeat(0)).take(length)))
            }
        };
        sent.map_err(|_| self.away())
    }

    /// Why the host cannot be asked any more.
    fn away(&self) -> TestbedError {
        let mut errors = lock(&self.errors);
        let why = match &mut *errors {
            Errors::Heard(why) => why.clone(),
            Errors::Unheard(said) => {
                let told = said.take().and_then(|said| said.recv_timeout(ENDS).ok());
                let why = told.filter(|text| !text.is_empty());
                why.unwrap_or_else(|| "the connection to it ended".to_owned())
            }
        };
        *errors = Errors::Heard(why.clone());
        TestbedError::Away { host: self.host.clone(), why }
    }

    /// Ends it. What it has started goes on.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(lock(&self.input).take());
        let mut child = lock(&self.child);
        if crate::command::wait(&mut child, &Deadline::within(ENDS)).is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

/// Hands each answer to who waits for it, until there are no more.
fn hear(
    output: impl std::io::Read + Send + 'static,
    (host, lost): (Route, Lost),
    is_over: Arc<AtomicBool>,
) -> (Arc<Mutex<Waiting>>, Receiver<()>) {
    let waiting = Arc::new(Mutex::new(Some(BTreeMap::new())));
    let (begun, hears) = channel();
    let all = Arc::clone(&waiting);
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        // What the shell of the host says before is its own affair.
        if !until_begun(&mut output) {
            *lock(&all) = None;
            return;
        }
        let _ = begun.send(());
        while let Some(answer) = next::<Answer>(&mut output) {
            let Some(id) = answer.id() else { continue };
            let waits: Option<Sender<Answer>> =
                lock(&all).as_ref().and_then(|all| all.get(&id).cloned());
            if let Some(waits) = waits {
                let _ = waits.send(answer);
            }
        }
        if !is_over.load(Ordering::Relaxed) {
            lost.note(&host);
        }
        *lock(&all) = None;
    });
    (waiting, hears)
}

/// Reads lines until the copy says that it has begun; whether it does, within some lines.
fn until_begun(output: &mut impl BufRead) -> bool {
    for _ in 0..MOST_BEFORE {
        let mut line = Vec::new();
        match output.by_ref().take(MOST_LINE).read_until(b'\n', &mut line) {
            Ok(read) if read > 0 => {}
            _ => return false,
        }
        if matches!(serde_json::from_slice(&line), Ok(Answer::Begun)) {
            return true;
        }
    }
    false
}
