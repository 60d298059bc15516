//! How workers come: started some at once, and waited for as long as they come on.

use super::{Crew, LOOK, Member, News};
use crate::child::Child;
use crate::error::FleetError;
use crate::message::Answer;
use crate::silence::Silence;
use crate::start::At;
use plimsoll_load::clock::monotonic_ns;

/// A worker that is not ready has to come on within so long.
const READY_WITHIN_S: u64 = 60;
/// So many workers are on their way at once: servers of SSH let in no more at a time.
const AT_ONCE: usize = 16;
/// So much of what a worker is told counts as coming on, bytes.
const COMES_ON: u64 = 64 << 10;

/// How far workers have come on a way.
pub(crate) struct Progress {
    /// How far, whatever the unit; it only grows.
    pub(crate) came_on: u64,
    /// The numbers of those that are not there yet.
    pub(crate) missing: Vec<usize>,
}

/// Takes what workers answer on a way, each with its number and when it was heard, and says how far
/// they have come.
pub(crate) type Way<'a> = &'a mut dyn FnMut(&Crew, Vec<(usize, Answer, u64)>) -> Progress;

impl Crew {
    /// Starts them, and waits until each is ready.
    ///
    /// # Errors
    /// As for [`Crew::until`]; two hosts that are one.
    pub(crate) fn come(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<(), FleetError> {
        self.until(interrupted, &mut |crew, _| {
            let missing = (0..crew.len()).filter(|&number| crew.host(number).is_none());
            Progress { came_on: 0, missing: missing.collect() }
        })?;
        self.are_hosts_apart()
    }

    /// Hears workers until all are at the end of a way.
    ///
    /// # Errors
    /// One that is lost, refuses, or does not come on; that it is interrupted.
    pub(crate) fn until(
        &mut self,
        interrupted: &mut dyn FnMut() -> bool,
        way: Way<'_>,
    ) -> Result<(), FleetError> {
        let mut waiting = Silence::from(monotonic_ns());
        let (mut before, mut answers) = (0, Vec::new());
        loop {
            let Progress { came_on, missing } = way(self, std::mem::take(&mut answers));
            if missing.is_empty() {
                return Ok(());
            }
            if interrupted() {
                return Err(FleetError::Interrupted);
            }
            let came_on = came_on + self.members.iter().map(Member::came_on).sum::<u64>();
            if came_on > before {
                before = came_on;
                waiting.end();
            }
            if waiting.look(monotonic_ns()) > READY_WITHIN_S * 1_000_000_000 {
                let names: Vec<&str> = missing.iter().map(|&number| self.name(number)).collect();
                return Err(FleetError::Late {
                    of: self.len(),
                    ready: self.len() - names.len(),
                    within_s: READY_WITHIN_S,
                    missing: names.join(", "),
                });
            }
            self.start_more()?;
            for news in self.listen(LOOK).0 {
                match news {
                    News::Answer(number, pong @ Answer::Pong { .. }, at_ns) => {
                        answers.push((number, pong, at_ns));
                    }
                    News::Answer(number, ..) => {
                        let cause = "it told of what it was not asked for yet".to_owned();
                        let worker = self.name(number).to_owned();
                        return Err(FleetError::Lost { worker, cause });
                    }
                    News::Refused(_, error) => return Err(error),
                    News::Lost(number, cause) => {
                        return Err(FleetError::Lost {
                            worker: self.name(number).to_owned(),
                            cause,
                        });
                    }
                }
            }
        }
    }

    /// Starts those that are not started, some at once.
    fn start_more(&mut self) -> Result<(), FleetError> {
        let coming = self.members.iter().filter(|of| of.child.is_some() && !of.is_greeted).count();
        let not_started = self.members.iter_mut().enumerate().filter(|(_, of)| of.child.is_none());
        for (number, member) in not_started.take(AT_ONCE.saturating_sub(coming)) {
            let child = Child::start(&member.start, number, &self.tell);
            let error = |source| FleetError::Start { worker: member.start.name.clone(), source };
            member.child = Some(child.map_err(error)?);
        }
        Ok(())
    }

    /// Refuses hosts that are one: its processors would count twice.
    fn are_hosts_apart(&self) -> Result<(), FleetError> {
        let own = || self.members.iter().filter(|of| of.start.at == At::OwnHost);
        for (number, member) in own().enumerate() {
            let is_same = |of: &&Member| {
                of.host.as_ref().zip(member.host.as_ref()).is_some_and(|(one, two)| one.is(two))
            };
            if let Some(other) = own().take(number).find(is_same) {
                return Err(FleetError::Same {
                    one: other.start.name.clone(),
                    two: member.start.name.clone(),
                });
            }
        }
        Ok(())
    }
}

impl Member {
    /// How far it has come on its way to what it is told first; it only grows.
    fn came_on(&self) -> u64 {
        let copied = self.child.as_ref().map_or(0, Child::told_bytes) / COMES_ON;
        copied + u64::from(self.is_greeted) + u64::from(self.host.is_some())
    }
}
