//! A worker on a bus: it says hello to controllers that it trusts, and has one servant at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_load::clock::monotonic_ns;
use plimsoll_net::amqp::Error;
use plimsoll_units::failure::chain;

use super::BusError;
use super::desk::{Desk, Nonces, Turn, nonce};
use super::envelope::{self, Head, Kind, Nonce};
use super::greeting::{Hello, WORKERS, of_controller, of_worker};
use super::key::{KeyId, Keyring, Known, Secret};
use super::post::{Bus, LOCKED, Mailbox};
use super::servant::Servant;
use super::session::{Door, Session, Side};
use crate::host::Host;
use crate::message::Greeting;
use crate::silence::Silence;
use crate::start::Command;

/// How often is looked for what is due.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_NS: u64 = 50_000_000;
/// How often the list of controllers is read again, and what was dropped is told.
const READ_AGAIN_NS: u64 = 1_000_000_000;
const TELL_NS: u64 = 60_000_000_000;
/// At so many readings in a row a key is gone.
const GONE: u32 = 2;
/// A controller that has said nothing for so long may be replaced by another, and is lost after so
/// long; the time in which the broker is away does not count.
const REPLACED_NS: u64 = 5_000_000_000;
const LOST_NS: u64 = 60_000_000_000;
/// A servant may take so long to end by itself.
const ENDS_NS: u64 = 5_000_000_000;
/// A broker that is away at the beginning is tried again after so long.
const AGAIN: Duration = Duration::from_secs(1);
/// A connection that broke may have its queue for so many attempts: brokers give connections up
/// after two heartbeats.
const STAYS: u32 = 15;
/// So many calls are remembered.
const CALLS: usize = 64;
/// A call is answered so often at most.
const HELLO_NS: u64 = 200_000_000;

/// A worker on a bus.
pub struct Relay<'a> {
    /// Where.
    pub bus: Bus,
    /// Its key.
    pub own: Arc<Secret>,
    /// The controllers that it serves.
    pub trusted: Keyring,
    /// What its command line says of it.
    pub labels: BTreeMap<String, String>,
    /// What it may do.
    pub may: Vec<String>,
    /// The host that it is on.
    pub host: Host,
    /// The version of the program.
    pub version: &'a str,
    /// The command that serves a controller.
    pub servant: Command,
    /// The longest that a session may take.
    pub most_time: Option<Duration>,
    /// It ends when it has served nobody for so long.
    pub idle: Option<Duration>,
}

/// A call that was answered.
struct Answered {
    controller: Nonce,
    worker: Nonce,
    at_ns: u64,
}

/// A session that goes on.
struct Current {
    with: Known,
    nonces: Nonces,
    door: Door,
    servant: Servant,
    began_ns: u64,
    heard: u64,
    silence: Silence,
    silent_ns: u64,
    /// How often in a row its key was not in the list.
    missing: u32,
    /// Since when the session is over.
    over_ns: Option<u64>,
}

/// A worker while it serves.
struct Serving<'a, 'b> {
    of: Relay<'a>,
    own: Arc<Secret>,
    desk: Desk,
    answered: Vec<Answered>,
    current: Option<Current>,
    /// When it last served somebody, or began to wait.
    served_ns: u64,
    say: &'b mut dyn FnMut(&str),
}

/// Serves controllers, one after the other, until `is_over`. What happens is told to `say`.
///
/// # Errors
/// [`BusError`]: a broker that does not let it in; a key that another worker has.
pub fn serve(
    relay: Relay<'_>,
    say: &mut dyn FnMut(&str),
    is_over: &dyn Fn() -> bool,
) -> Result<(), BusError> {
    let id = relay.own.public().id();
    let key = of_worker(id);
    let keys = vec![key.clone(), WORKERS.to_owned()];
    let mailbox = Mailbox { name: format!("plimsoll.fleet.{key}"), keys };
    let began_ns = monotonic_ns();
    let idle = relay.idle;
    let is_late = || idle.is_some_and(|idle| is_past(began_ns, idle));
    let waited = desk(&relay.bus, &mailbox, say, &|| is_over() || is_late())?;
    let Some(desk) = waited else {
        if is_late() {
            say(&format!("ends: {} was away for longer than --idle", relay.bus.broker));
        }
        return Ok(());
    };
    let own = relay.own.clone();
    say(&format!("waits for controllers at {}, with the key {id}", relay.bus.broker));
    let (answered, current, served_ns) = (Vec::new(), None, monotonic_ns());
    Serving { of: relay, own, desk, answered, current, served_ns, say }.go_on(is_over);
    Ok(())
}

/// Whether it is that long ago.
fn is_past(since_ns: u64, long: Duration) -> bool {
    u128::from(monotonic_ns().saturating_sub(since_ns)) > long.as_nanos()
}

/// The mail of a broker, however long it takes until that is there; `None` where it is over before.
fn desk(
    bus: &Bus,
    mailbox: &Mailbox,
    say: &mut dyn FnMut(&str),
    is_over: &dyn Fn() -> bool,
) -> Result<Option<Desk>, BusError> {
    let broker = &bus.broker;
    let (mut is_told, mut locked) = (false, 0);
    while !is_over() {
        let why = match Desk::open(bus.clone(), mailbox.clone()) {
            Ok(desk) => return Ok(Some(desk)),
            Err(Error::Refused { code: LOCKED, .. }) if locked == STAYS => {
                return Err(BusError::Twice { broker: broker.to_string() });
            }
            Err(Error::Refused { code: LOCKED, .. }) => {
                locked += 1;
                format!("another connection to {broker} has this key; waiting for its end")
            }
            Err(error) if error.reason() == "away" => {
                format!("{broker} is away, and is tried again: {}", chain(&error))
            }
            Err(error) => return Err(BusError::of(bus)(error)),
        };
        if !is_told {
            say(&why);
            is_told = true;
        }
        std::thread::park_timeout(AGAIN);
    }
    Ok(None)
}

impl Current {
    /// Ends the session, and who serves in it.
    fn end(&self, why: &str) {
        self.door.cut(why);
        self.servant.kill();
    }
}

impl Serving<'_, '_> {
    fn go_on(&mut self, is_over: &dyn Fn() -> bool) {
        let (mut looked_ns, mut read_ns, mut told_ns) = (0, 0, 0);
        let (mut told, mut causes, mut ends_ns) = (0, 0, None);
        loop {
            match self.desk.turn(LOOK) {
                Turn::Message(message) if ends_ns.is_none() => self.hear(&message),
                Turn::Message(_) | Turn::Nothing => {}
                Turn::Over => return,
            }
            let now_ns = monotonic_ns();
            if now_ns.saturating_sub(looked_ns) < LOOK_NS {
                continue;
            }
            looked_ns = now_ns;
            self.look(now_ns);
            if ends_ns.is_none() && (is_over() || self.is_idle()) {
                ends_ns = Some(now_ns);
                if let Some(current) = &self.current {
                    current.end("the worker was told to end");
                }
            }
            if let Some(since_ns) = ends_ns
                && (self.current.is_none() || now_ns.saturating_sub(since_ns) > ENDS_NS)
            {
                return;
            }
            if now_ns.saturating_sub(read_ns) >= READ_AGAIN_NS {
                read_ns = now_ns;
                self.read_again();
            }
            let is_new = self.desk.dropped().len() > causes;
            if is_new || now_ns.saturating_sub(told_ns) >= TELL_NS {
                (told_ns, causes) = (now_ns, self.desk.dropped().len());
                self.tell_dropped(&mut told);
            }
        }
    }

    /// Whether nobody has asked for it for so long that it ends.
    fn is_idle(&mut self) -> bool {
        if self.current.is_some() {
            self.served_ns = monotonic_ns();
        }
        let Some(idle) = self.of.idle else { return false };
        let is_idle = is_past(self.served_ns, idle);
        if is_idle {
            (self.say)("ends: it has served nobody for longer than --idle");
        }
        is_idle
    }

    /// Reads again whom it trusts.
    fn read_again(&mut self) {
        self.of.trusted.read_again();
        let Some(current) = &mut self.current else { return };
        let is_known = self.of.trusted.of(current.with.key.id()).is_some();
        current.missing = if is_known { 0 } else { current.missing + 1 };
        if current.missing == GONE {
            current.end("its controller is not trusted any more");
        }
    }

    /// Tells how many messages were dropped, where there are more than before.
    fn tell_dropped(&mut self, told: &mut u64) {
        let dropped: u64 = self.desk.dropped().values().sum();
        if dropped > *told {
            *told = dropped;
            let of = self.desk.dropped().iter().map(|(why, count)| format!("{count} {why}"));
            let of: Vec<String> = of.collect();
            (self.say)(&format!("messages that were dropped so far: {}", of.join(", ")));
        }
    }

    /// Looks after the session that goes on.
    fn look(&mut self, now_ns: u64) {
        let Some(current) = &mut self.current else { return };
        let heard = current.door.heard();
        if heard != current.heard || current.door.is_cut_off() {
            current.heard = heard;
            current.silence.end();
        }
        current.silent_ns = current.silence.look(now_ns);
        if current.silent_ns > LOST_NS {
            current.end("its controller is silent");
        }
        let took_ns = now_ns.saturating_sub(current.began_ns);
        if self.of.most_time.is_some_and(|most| u128::from(took_ns) > most.as_nanos()) {
            current.end("it took longer than the worker may (--most-time)");
        }
        if current.door.is_over() || current.door.has_heard_last() {
            let since_ns = *current.over_ns.get_or_insert(now_ns);
            // What it does has ended with its input; where not, it is ended.
            if now_ns.saturating_sub(since_ns) > ENDS_NS {
                current.end("it did not end by itself");
            }
        }
        if current.servant.has_ended() && current.door.is_over() {
            let (name, refused) = (&current.with.name, current.door.refused());
            let more = match refused {
                0 => String::new(),
                count => format!("; {count} messages for it were not believed"),
            };
            (self.say)(&format!("the session with {name} has ended{more}"));
            self.current = None;
        }
    }

    /// Hears a controller that calls, or takes this worker.
    fn hear(&mut self, message: &[u8]) {
        let Some(sealed) = envelope::open(message) else { return };
        let Head { kind, from, controller, worker, .. } = sealed.head;
        let Some(known) = self.of.trusted.of(from).cloned() else {
            return self.desk.drop_message("of a controller that is not trusted");
        };
        if sealed.said_by(&known.key).is_none() {
            return self.desk.drop_message("not signed by whom it names");
        }
        match kind {
            Kind::Call => self.say_hello(controller),
            Kind::Take => self.be_taken((controller, worker), known),
            _ => self.desk.drop_message("for a controller"),
        }
    }

    /// Whether another controller is served, which was heard a moment ago.
    fn is_busy(&self) -> bool {
        self.current.as_ref().is_some_and(|of| of.silent_ns < REPLACED_NS)
    }

    fn say_hello(&mut self, controller: Nonce) {
        let now_ns = monotonic_ns();
        if self.current.as_ref().is_some_and(|of| of.nonces.0 == controller) {
            return;
        }
        let known = self.answered.iter_mut().find(|of| of.controller == controller);
        let worker = match known {
            Some(of) if now_ns.saturating_sub(of.at_ns) < HELLO_NS => return,
            Some(of) => {
                of.at_ns = now_ns;
                of.worker
            }
            None => {
                let Some(worker) = nonce() else { return };
                if self.answered.len() >= CALLS {
                    self.answered.remove(0);
                }
                self.answered.push(Answered { controller, worker, at_ns: now_ns });
                worker
            }
        };
        let hello = Hello {
            greeting: Greeting::of(self.of.version),
            labels: self.of.labels.clone(),
            may: self.of.may.clone(),
            host: self.of.host.clone(),
            is_busy: self.is_busy(),
        };
        let Ok(said) = serde_json::to_vec(&hello) else { return };
        let (kind, from) = (Kind::Hello, self.id());
        let head = Head { kind, from, controller, worker, number: 0, heard: 0 };
        let message = envelope::seal(&self.own, &head, &said);
        self.desk.post().send(&of_controller(controller), message);
    }

    fn id(&self) -> KeyId {
        self.own.public().id()
    }

    fn be_taken(&mut self, nonces: Nonces, known: Known) {
        let is_of = |of: &Answered| (of.controller, of.worker) == nonces;
        if self.current.as_ref().is_some_and(|of| of.nonces == nonces) {
            // It is said again until it is answered.
            return;
        }
        let Some(at) = self.answered.iter().position(is_of) else {
            return self.desk.drop_message("a take that this worker did not offer");
        };
        if self.is_busy() {
            return;
        }
        if let Some(current) = &self.current {
            // It is asked again in a moment.
            current.end("another controller has taken the worker");
            return;
        }
        // It is good for one session.
        self.answered.remove(at);
        self.begin(nonces, known);
    }

    fn begin(&mut self, nonces: Nonces, with: Known) {
        let (controller, worker) = nonces;
        let session = Session {
            side: Side::Worker,
            own: self.own.clone(),
            other: with.key,
            controller,
            worker,
            post: self.desk.post().clone(),
            to: of_controller(controller),
        };
        let ends = session.begin();
        let door = ends.door;
        self.desk.add(nonces, door.clone());
        let servant = match Servant::start(&self.of.servant, ends.reader, ends.writer) {
            Ok(servant) => servant,
            Err(error) => {
                (self.say)(&format!("cannot serve {}: {error}", with.name));
                return;
            }
        };
        (self.say)(&format!("serves {}", with.name));
        let now_ns = monotonic_ns();
        let silence = Silence::from(now_ns);
        let (heard, silent_ns, missing, over_ns, began_ns) = (0, 0, 0, None, now_ns);
        let of = Current {
            with,
            nonces,
            door,
            servant,
            began_ns,
            heard,
            silence,
            silent_ns,
            missing,
            over_ns,
        };
        self.current = Some(of);
    }
}
