//! A controller calls workers, and takes as many as it wants of those that answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use plimsoll_load::clock::monotonic_ns;
use plimsoll_units::failure::chain;
use serde::Serialize;

use super::BusError;
use super::desk::{Desk, Turn, nonce};
use super::envelope::{self, Head, Kind, Nonce};
use super::greeting::{CALL_NS, Hello, WORKERS, of_controller, of_worker};
use super::key::{KeyId, Keyring, Known, Secret};
use super::post::{Bus, Mailbox};
use super::session::{Door, Ends, Session, Side};
use crate::error::FleetError;
use crate::message::Greeting;
use crate::silence::Silence;
use crate::start::{At, By, Start};

/// How often is looked for what is due.
const LOOK: Duration = Duration::from_millis(50);
/// A broker that is away is tried again after so many looks.
const LOOKS_AWAY: u32 = 10;
/// A worker that was taken has to say something within so long; then others are asked.
const ANSWERS_NS: u64 = 5_000_000_000;
/// So long is waited before that is told.
const LONG_NS: u64 = 3_000_000_000;
/// How often the list of workers is read again.
const READ_AGAIN_NS: u64 = 1_000_000_000;
/// At so many readings in a row a key is gone.
const GONE: u32 = 2;

/// What workers are called for.
pub struct Call<'a> {
    /// Where.
    pub bus: Bus,
    /// Who calls.
    pub own: Arc<Secret>,
    /// The workers that may answer.
    pub known: Keyring,
    /// Labels that a worker must have.
    pub need: BTreeMap<String, String>,
    /// Who alone is meant, by the name in the list.
    pub who: Option<&'a str>,
    /// How many are wanted.
    pub count: usize,
    /// What they must be allowed to do: `simulate` or `load`.
    pub wants: &'a str,
    /// The version of the program.
    pub version: &'a str,
    /// How long is waited for another one to come, seconds.
    pub within_s: u64,
}

/// Whoever waits for workers.
pub struct Waits<'a> {
    /// Whether that is interrupted; asked several times a second.
    pub interrupted: &'a mut dyn FnMut() -> bool,
    /// Told how far it is, where it takes long and whenever that changes.
    pub tell: &'a mut dyn FnMut(&str),
}

/// A worker that was taken: its session, for whoever begins with it.
#[derive(Clone)]
pub struct Called(Arc<Mutex<Option<Ends>>>);

impl fmt::Debug for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Called")
    }
}

impl PartialEq for Called {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Called {}

impl Called {
    /// Its session; `None` where somebody has begun with it.
    pub(crate) fn take(&self) -> Option<Ends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A worker that was taken, and may not have answered yet.
struct Taken {
    name: String,
    ends: Ends,
    worker: Nonce,
    since_ns: u64,
}

/// A worker that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// What the controller's list calls it.
    pub name: String,
    /// What it may do, as its own command line has it.
    pub may: Vec<String>,
    /// Its labels; those of the list win.
    pub labels: BTreeMap<String, String>,
    /// How many processors it may use.
    pub processors: usize,
    /// Whether it serves a controller.
    pub is_busy: bool,
    /// The version of its program.
    pub version: String,
}

/// Who answers a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Present {
    /// Workers that are known, by name.
    pub workers: Vec<Seen>,
    /// Names of those that are known and do not answer.
    pub silent: Vec<String>,
    /// Keys of those that answer and are not known.
    pub unknown: Vec<String>,
}

/// Who calls, while workers come.
struct Calling<'a> {
    of: Call<'a>,
    own: Arc<Secret>,
    desk: Desk,
    nonce: Nonce,
    taken: BTreeMap<KeyId, Taken>,
    /// Why workers that answered are not taken, by name.
    others: BTreeMap<String, String>,
    /// Who answered and is not known.
    strangers: BTreeSet<KeyId>,
    /// Those that answered and are known.
    seen: BTreeMap<String, Seen>,
}

impl<'a> Call<'a> {
    /// Waits until as many workers are there as are wanted; they are the caller's from then on. A
    /// broker that is away is waited for as long as for a worker.
    ///
    /// # Errors
    /// [`FleetError`]: the broker's, too few workers, that it is interrupted.
    pub fn answer(self, waits: &mut Waits<'_>) -> Result<Vec<Start>, FleetError> {
        let desk = self.desk(waits)?;
        let mut calling = self.at(desk);
        calling.wait(waits)?;
        Ok(calling.begin())
    }

    /// Calls for so long, and takes nobody.
    ///
    /// # Errors
    /// [`BusError`].
    pub fn look(self, length: Duration) -> Result<Present, BusError> {
        let mut calling = Self { count: 0, ..self }.begin()?;
        let began_ns = monotonic_ns();
        let mut called_ns = None;
        while Duration::from_nanos(monotonic_ns().saturating_sub(began_ns)) < length {
            calling.call_in_time(&mut called_ns);
            if let Turn::Message(message) = calling.desk.turn(LOOK) {
                calling.hear(&message);
            }
        }
        let Calling { of: Call { known, .. }, seen, strangers, .. } = calling;
        let silent = known.names().filter(|name| !seen.contains_key(*name));
        Ok(Present {
            silent: silent.map(str::to_owned).collect(),
            workers: seen.into_values().collect(),
            unknown: strangers.iter().map(KeyId::to_string).collect(),
        })
    }

    fn begin(self) -> Result<Calling<'a>, BusError> {
        let (nonce, mailbox) = mailbox()?;
        let failed = BusError::of(&self.bus);
        let desk = Desk::open(self.bus.clone(), mailbox).map_err(failed)?;
        Ok(self.at((desk, nonce)))
    }

    /// The mail of the broker, once that is there.
    fn desk(&self, waits: &mut Waits<'_>) -> Result<(Desk, Nonce), FleetError> {
        let (nonce, mailbox) = mailbox()?;
        let (began_ns, mut is_told) = (monotonic_ns(), false);
        loop {
            let error = match Desk::open(self.bus.clone(), mailbox.clone()) {
                Ok(desk) => return Ok((desk, nonce)),
                Err(error) => error,
            };
            let waited_ns = monotonic_ns().saturating_sub(began_ns);
            if error.reason() != "away" || waited_ns > self.within_s * 1_000_000_000 {
                return Err(BusError::of(&self.bus)(error).into());
            }
            if !is_told {
                let (broker, why) = (&self.bus.broker, chain(&error));
                (waits.tell)(&format!("{broker} is away, and is tried again: {why}"));
                is_told = true;
            }
            for _ in 0..LOOKS_AWAY {
                if (waits.interrupted)() {
                    return Err(FleetError::Interrupted);
                }
                thread::park_timeout(LOOK);
            }
        }
    }

    /// Calls where there is mail.
    fn at(self, (desk, nonce): (Desk, Nonce)) -> Calling<'a> {
        let own = self.own.clone();
        let (taken, others, strangers) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let seen = BTreeMap::new();
        Calling { of: self, own, desk, nonce, taken, others, strangers, seen }
    }
}

/// A mailbox that nobody else has.
fn mailbox() -> Result<(Nonce, Mailbox), BusError> {
    let nonce = nonce().ok_or(BusError::Random)?;
    let key = of_controller(nonce);
    Ok((nonce, Mailbox { name: format!("plimsoll.fleet.{key}"), keys: vec![key] }))
}

impl Calling<'_> {
    fn wait(&mut self, waits: &mut Waits<'_>) -> Result<(), FleetError> {
        let (began_ns, mut told) = (monotonic_ns(), String::new());
        let (mut called_ns, mut there) = (None, 0);
        let mut waiting = Silence::from(monotonic_ns());
        while self.there() < self.of.count {
            if (waits.interrupted)() {
                return Err(FleetError::Interrupted);
            }
            self.call_in_time(&mut called_ns);
            match self.desk.turn(LOOK) {
                Turn::Message(message) => self.hear(&message),
                Turn::Nothing => {}
                Turn::Over => break,
            }
            if monotonic_ns().saturating_sub(began_ns) > LONG_NS {
                let now = self.far();
                if now != told {
                    (waits.tell)(&now);
                    told = now;
                }
            }
            if self.there() > there {
                there = self.there();
                waiting.end();
            }
            if waiting.look(monotonic_ns()) > self.of.within_s * 1_000_000_000 {
                return Err(self.too_few());
            }
        }
        Ok(())
    }

    /// How many have answered to being taken.
    fn there(&self) -> usize {
        self.taken.values().filter(|of| of.ends.door.heard() > 0).count()
    }

    /// Calls, where the last time is long enough ago.
    fn call_in_time(&mut self, called_ns: &mut Option<u64>) {
        let now_ns = monotonic_ns();
        if called_ns.is_none_or(|of| now_ns.saturating_sub(of) >= CALL_NS) {
            *called_ns = Some(now_ns);
            self.call(now_ns);
        }
    }

    /// Calls all, and once more takes those that have not answered to that.
    fn call(&mut self, now_ns: u64) {
        let late = |of: &Taken| {
            of.ends.door.heard() == 0 && now_ns.saturating_sub(of.since_ns) > ANSWERS_NS
        };
        self.taken.retain(|_, of| !late(of));
        let greeting = serde_json::to_vec(&Greeting::of(self.of.version)).unwrap_or_default();
        self.send(WORKERS, Kind::Call, Nonce::default(), &greeting);
        let silent = self.taken.iter().filter(|(_, of)| of.ends.door.heard() == 0);
        let silent: Vec<_> = silent.map(|(id, of)| (*id, of.worker)).collect();
        for (id, worker) in silent {
            self.send(&of_worker(id), Kind::Take, worker, &greeting);
        }
    }

    fn send(&self, key: &str, kind: Kind, worker: Nonce, said: &[u8]) {
        let (from, controller) = (self.own.public().id(), self.nonce);
        let head = Head { kind, from, controller, worker, number: 0, heard: 0 };
        self.desk.post().send(key, envelope::seal(&self.own, &head, said));
    }

    /// Hears a worker say hello.
    fn hear(&mut self, message: &[u8]) {
        let Some(sealed) = envelope::open(message) else { return };
        let Head { kind, from, controller, worker, .. } = sealed.head;
        if kind != Kind::Hello || controller != self.nonce {
            return self.desk.drop_message("for another controller");
        }
        let Some(known) = self.of.known.of(from).cloned() else {
            // So many are named at most.
            if self.strangers.len() < 100 {
                self.strangers.insert(from);
            }
            return self.desk.drop_message("of a worker that is not known");
        };
        let said = sealed.said_by(&known.key);
        let Some(hello) = said.and_then(|of| serde_json::from_slice::<Hello>(of).ok()) else {
            return self.desk.drop_message("not signed by whom it names");
        };
        let is_meant = self.of.who.is_none_or(|who| known.name == who);
        if self.taken.contains_key(&from) || !is_meant {
            return;
        }
        self.seen.insert(known.name.clone(), hello.seen(&known));
        let own = Greeting::of(self.of.version);
        match hello.lacks(&own, self.of.wants, &self.of.need, &known.labels) {
            Some(why) => {
                self.others.insert(known.name, why);
            }
            None if self.taken.len() < self.of.count => self.take(from, worker, &known),
            None => {}
        }
    }

    fn take(&mut self, id: KeyId, worker: Nonce, known: &Known) {
        let session = Session {
            side: Side::Controller,
            own: self.own.clone(),
            other: known.key,
            controller: self.nonce,
            worker,
            post: self.desk.post().clone(),
            to: of_worker(id),
        };
        let ends = session.begin();
        self.desk.add((self.nonce, worker), ends.door.clone());
        self.others.remove(&known.name);
        let (name, since_ns) = (known.name.clone(), monotonic_ns());
        self.taken.insert(id, Taken { name, ends, worker, since_ns });
        let greeting = serde_json::to_vec(&Greeting::of(self.of.version)).unwrap_or_default();
        self.send(&of_worker(id), Kind::Take, worker, &greeting);
    }

    /// How far it is.
    fn far(&self) -> String {
        let (there, of, others) = (self.there(), self.of.count, self.others());
        let others = if others.is_empty() { others } else { format!("; not taken: {others}") };
        format!("waiting for workers at the broker: {there} of {of} are there{others}")
    }

    /// Who answered and is not taken, with why.
    fn others(&self) -> String {
        let mut others: Vec<String> =
            self.others.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        if !self.strangers.is_empty() {
            let ids: Vec<String> = self.strangers.iter().take(3).map(KeyId::to_string).collect();
            others.push(format!(
                "{} with a key that `known` does not have ({})",
                self.strangers.len(),
                ids.join(", ")
            ));
        }
        others.join("; ")
    }

    fn too_few(&self) -> FleetError {
        let there = self.taken.values().filter(|of| of.ends.door.heard() > 0);
        let there: Vec<&str> = there.map(|of| of.name.as_str()).collect();
        FleetError::TooFew {
            of: self.of.count,
            there: there.len(),
            within_s: self.of.within_s,
            names: there.join(", "),
            others: self.others(),
        }
    }

    /// Hands the workers over; their mail is brought to them from now on, until all sessions are
    /// over.
    fn begin(self) -> Vec<Start> {
        let Self { taken, mut desk, of: Call { known, .. }, .. } = self;
        let sessions: Vec<(KeyId, Door)> =
            taken.iter().map(|(id, of)| (*id, of.ends.door.clone())).collect();
        thread::spawn(move || bring(&mut desk, known, &sessions));
        let mut starts: Vec<Start> = taken.into_values().map(Taken::start).collect();
        starts.sort_by(|one, other| one.name.cmp(&other.name));
        starts
    }
}

impl Taken {
    fn start(self) -> Start {
        let called = Called(Arc::new(Mutex::new(Some(self.ends))));
        Start { name: self.name, by: By::Bus(called), at: At::Somewhere }
    }
}

/// Brings mail to sessions until all are over. A worker whose key is not known any more is not
/// heard any more.
fn bring(desk: &mut Desk, mut known: Keyring, sessions: &[(KeyId, Door)]) {
    let (mut read_ns, mut gone) = (monotonic_ns(), BTreeMap::<KeyId, u32>::new());
    while sessions.iter().any(|(_, door)| !door.is_over()) {
        if matches!(desk.turn(LOOK), Turn::Over) {
            return;
        }
        let now_ns = monotonic_ns();
        if now_ns.saturating_sub(read_ns) < READ_AGAIN_NS {
            continue;
        }
        read_ns = now_ns;
        known.read_again();
        for (id, door) in sessions {
            let times = gone.entry(*id).or_default();
            *times = if known.of(*id).is_some() { 0 } else { *times + 1 };
            if *times >= GONE {
                door.cut("its key is not known any more");
            }
        }
    }
}
