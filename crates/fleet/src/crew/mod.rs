//! Processes that are workers: how they come, what they say, and how they are lost.

mod come;

pub(crate) use come::Progress;

use crate::child::{self, Child, Said};
use crate::error::FleetError;
use crate::host::Host;
use crate::memory;
use crate::message::{Answer, Greeting, Order};
use crate::silence::Silence;
use crate::start::{At, Input, Start};
use plimsoll_load::clock::monotonic_ns;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// How often is looked whether somebody is silent.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// How often workers hear that somebody is there.
const PING_NS: u64 = 1_000_000_000;
/// Who has closed its end, or exited, may have so long for the rest of it.
const REST_NS: u64 = 500_000_000;
/// So long workers have to end, before they are ended.
const END_NS: u64 = 2_000_000_000;
/// So much that was said waits to be heard: whoever says more waits.
const MOST_UNHEARD: usize = 256;
/// So much is heard at once before it is asked who is silent.
const MOST_AT_ONCE: usize = 4096;

/// How workers are given what they need, and watched.
pub(crate) struct Care {
    /// The files that the plan reads, for workers that are not here.
    pub(crate) inputs: Vec<Input>,
    /// The version of the program.
    pub(crate) version: String,
    /// The root of the file system, below which `proc` and `sys` lie.
    pub(crate) system: PathBuf,
    /// The silence after which one is lost, nanoseconds.
    pub(crate) lost_after_ns: u64,
    /// Whether one that was silent may come back: its connection is kept then.
    pub(crate) may_come_back: bool,
}

/// A worker.
struct Member {
    start: Start,
    /// What it is told first, until it is told.
    first: Option<Order>,
    child: Option<Child>,
    silence: Silence,
    /// Whether it has said what it is.
    is_greeted: bool,
    /// Where it is; known when it is ready.
    host: Option<Host>,
    /// It needs no more: it has told all, or is lost.
    has_ended: bool,
    /// It is silent, and was told to be lost; it may come back.
    is_away: bool,
    is_closed: bool,
    exited: Option<ExitStatus>,
}

/// What has come of a worker, by its number.
pub(crate) enum News {
    /// It answers; heard at this moment.
    Answer(usize, Answer, u64),
    /// It is lost, for this cause.
    Lost(usize, String),
    /// It cannot do what it was asked to.
    Refused(usize, FleetError),
}

/// Workers.
pub(crate) struct Crew {
    care: Care,
    members: Vec<Member>,
    /// By which workers are heard that are still to be started.
    tell: SyncSender<(usize, Said)>,
    said: Receiver<(usize, Said)>,
    pinged_ns: u64,
    looked_ns: u64,
    /// How many processes had been ended for want of memory before.
    short_of_memory: u64,
}

impl Crew {
    /// Workers that are to be started, each with what it is told first.
    pub(crate) fn new(care: Care, workers: impl Iterator<Item = (Start, Order)>) -> Self {
        let (tell, said) = sync_channel(MOST_UNHEARD);
        let now_ns = monotonic_ns();
        let members = workers.map(|(start, first)| Member::new(start, first, now_ns)).collect();
        let short_of_memory = memory::killed(&care.system);
        Self { care, members, tell, said, pinged_ns: now_ns, looked_ns: now_ns, short_of_memory }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The name of one.
    pub(crate) fn name(&self, number: usize) -> &str {
        self.members.get(number).map_or("", |of| of.start.name.as_str())
    }

    /// Where one is, and how it was started there; `None` before it is ready.
    pub(crate) fn host(&self, number: usize) -> Option<(&Host, At)> {
        let member = self.members.get(number)?;
        Some((member.host.as_ref()?, member.start.at))
    }

    /// Tells one what to do. Who does not listen is about to be heard of.
    pub(crate) fn tell(&mut self, number: usize, order: &Order) {
        if let Some(member) = self.members.get_mut(number).filter(|of| !of.has_ended) {
            member.tell(order);
        }
    }

    /// Tells all that have not ended.
    pub(crate) fn tell_all(&mut self, order: impl Fn() -> Order) {
        self.members.iter_mut().filter(|of| !of.has_ended).for_each(|of| of.tell(&order()));
    }

    /// One has told all.
    pub(crate) fn end(&mut self, number: usize) {
        self.members.iter_mut().skip(number).take(1).for_each(|of| of.has_ended = true);
    }

    /// Whether one has told all, or is lost.
    pub(crate) fn has_ended(&self, number: usize) -> bool {
        self.members.get(number).is_none_or(|of| of.has_ended)
    }

    /// One is lost: its process is ended, as one that is only silent goes on with what it does.
    pub(crate) fn lose(&mut self, number: usize) {
        let Some(member) = self.members.get_mut(number) else { return };
        member.has_ended = true;
        if let Some(child) = &mut member.child {
            child.let_go();
            child.kill();
        }
    }

    /// Has all tell what time it is.
    pub(crate) fn ask_time(&mut self) {
        self.pinged_ns = monotonic_ns();
        for member in self.members.iter_mut().filter(|of| of.is_greeted && !of.has_ended) {
            member.tell(&Order::Ping { sent_ns: monotonic_ns() });
        }
    }

    /// Hears what is said, waiting for something up to `patience`. Returns what came of it, and
    /// whether it was looked who is silent.
    pub(crate) fn listen(&mut self, patience: Duration) -> (Vec<News>, bool) {
        let mut news = Vec::new();
        match self.said.recv_timeout(patience.min(LOOK)) {
            Ok((number, said)) => news.extend(self.hear(number, said)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        let now_ns = monotonic_ns();
        if now_ns.saturating_sub(self.looked_ns) < u64::try_from(LOOK.as_nanos()).unwrap_or(0) {
            return (news, false);
        }
        // All that was said comes before it is asked who is silent.
        for _ in 0..MOST_AT_ONCE {
            let Ok((number, said)) = self.said.try_recv() else { break };
            news.extend(self.hear(number, said));
        }
        self.looked_ns = now_ns;
        if now_ns.saturating_sub(self.pinged_ns) >= PING_NS {
            self.ask_time();
        }
        for number in 0..self.members.len() {
            let Some((cause, may_come_back)) = self.cause_of_loss(number, now_ns) else { continue };
            if may_come_back {
                self.members.iter_mut().skip(number).take(1).for_each(|of| of.is_away = true);
            } else {
                self.lose(number);
            }
            news.push(News::Lost(number, cause));
        }
        (news, true)
    }

    /// Why a worker is lost, where it is, and whether it may come back.
    fn cause_of_loss(&mut self, number: usize, now_ns: u64) -> Option<(String, bool)> {
        let is_short_of_memory = || memory::killed(&self.care.system) > self.short_of_memory;
        let lost_after_ns = self.care.lost_after_ns;
        let member = self.members.get_mut(number).filter(|of| !of.has_ended)?;
        let child = member.child.as_ref()?;
        if self.care.may_come_back && child.is_cut_off() {
            member.silence.end();
        }
        let silent_ns = member.silence.look(now_ns);
        match (member.exited, member.is_closed) {
            (Some(status), is_closed) if is_closed || silent_ns > REST_NS => {
                let (status, words) = ((status, member.start.at), child.last_words());
                Some((child::ended(status, &words, is_short_of_memory()), false))
            }
            (None, true) if silent_ns > REST_NS => {
                let words = Some(child.last_words()).filter(|words| !words.is_empty());
                Some((words.unwrap_or_else(|| "it closed the connection".to_owned()), false))
            }
            // What it takes to make ready is limited by itself.
            _ if member.host.is_some() && silent_ns > lost_after_ns && !member.is_away => {
                let text = format!("silent for {:.1} s", silent_ns as f64 / 1e9);
                Some((text, self.care.may_come_back))
            }
            _ => None,
        }
    }

    fn hear(&mut self, number: usize, said: Said) -> Option<News> {
        let member = self.members.get_mut(number)?;
        member.silence.end();
        member.is_away = false;
        match said {
            Said::Greeting(greeting) => match Greeting::of(&self.care.version).refusal(&greeting) {
                Some(why) => return Some(self.refuse(number, (why, None, false))),
                None => member.greet(&self.care),
            },
            Said::Exited(status) => member.exited = Some(status),
            Said::Closed(None) => member.is_closed = true,
            Said::Closed(Some(error)) => {
                member.is_closed = true;
                if !member.has_ended {
                    self.lose(number);
                    return Some(News::Lost(number, error.to_string()));
                }
            }
            Said::Answer(Answer::Ready { host }, _) => member.host = Some(host),
            Said::Answer(Answer::Refused { why, hint, is_usage }, _) => {
                return Some(self.refuse(number, (why, hint, is_usage)));
            }
            Said::Answer(answer, at_ns) => return Some(News::Answer(number, answer, at_ns)),
        }
        None
    }

    fn refuse(
        &mut self,
        number: usize,
        (why, hint, is_usage): (String, Option<String>, bool),
    ) -> News {
        self.end(number);
        let worker = self.name(number).to_owned();
        News::Refused(number, FleetError::Refused { worker, why, hint, is_usage })
    }
}

impl Member {
    fn new(start: Start, first: Order, now_ns: u64) -> Self {
        Self {
            start,
            first: Some(first),
            child: None,
            silence: Silence::from(now_ns),
            is_greeted: false,
            host: None,
            has_ended: false,
            is_away: false,
            is_closed: false,
            exited: None,
        }
    }

    /// Whether it has not ended yet.
    fn is_there(&self) -> bool {
        let child = self.child.as_ref();
        child.is_some_and(|of| !of.is_gone(self.exited.is_some(), self.is_closed))
    }

    fn tell(&mut self, order: &Order) {
        let _ = self.child.as_mut().map(|child| child.tell(order));
    }

    /// It has said what it is: it is greeted, and told what to do.
    fn greet(&mut self, care: &Care) {
        self.is_greeted = true;
        let (Some(child), Some(first)) = (&mut self.child, self.first.take()) else { return };
        // Who does not listen is about to be heard of.
        let _ = child.greet(&Greeting::of(&care.version));
        if self.start.at != At::Here {
            care.inputs.iter().for_each(|input| drop(child.give(input)));
        }
        let _ = child.tell(&first);
    }
}

impl Drop for Crew {
    /// No worker outlives it.
    fn drop(&mut self) {
        let children = self.members.iter_mut().filter_map(|of| of.child.as_mut());
        children.for_each(Child::let_go);
        let mut waiting = Silence::from(monotonic_ns());
        let mut is_killed = false;
        while self.members.iter().any(Member::is_there) {
            let waited_ns = waiting.look(monotonic_ns());
            if waited_ns > END_NS && !is_killed {
                self.members.iter().filter_map(|of| of.child.as_ref()).for_each(Child::kill);
                is_killed = true;
            }
            if waited_ns > 2 * END_NS {
                return;
            }
            let Ok((number, said)) = self.said.recv_timeout(LOOK) else { continue };
            let Some(member) = self.members.get_mut(number) else { continue };
            match said {
                Said::Exited(status) => member.exited = Some(status),
                Said::Closed(_) => member.is_closed = true,
                Said::Greeting(_) | Said::Answer(..) => {}
            }
        }
    }
}
