//! What fails of a live pool: instances that answer no more, or whose host is gone, and the
//! balancer, which is made anew in its place.

use plimsoll_testbed::balance::{Ill, Lost, State, fail_together};
use plimsoll_testbed::balancers::BalancerCounts as Look;
use plimsoll_testbed::{Instance as Server, TestbedError};
use plimsoll_units::failure::chain;
use plimsoll_units::show_duration;

use super::life::{Leaver, Life};
use super::yard::Yard;

/// The longest time until it is known that an instance has failed, seconds: it is asked once a
/// second; one that does not answer has 2 s, and is asked again for another second.
const GONE_S: f64 = 1.0;
const LATE_S: f64 = 4.0;

/// An instance that is not well, and takes requests no more.
pub(super) struct Failed {
    pub(super) leaver: Leaver,
    /// Whether it may answer what it has.
    pub(super) answers: bool,
}

/// What is wrong with one.
enum Fault {
    /// Its server has ended so.
    Ended(String),
    /// Its checks say so.
    Ill(Option<Ill>),
}

impl Fault {
    fn answers(&self) -> bool {
        matches!(self, Self::Ill(Some(Ill::Wrong(_))))
    }

    /// What is said of one of this name: with the requests that it may have lost, where it was
    /// given so many a second and had some.
    fn told(&self, name: &str, (rate, had): (f64, f64)) -> String {
        let lost = |detected_s: f64| {
            let most = rate * detected_s + had;
            format!(
                "; it may have lost {most:.0} requests until then ({rate:.1}/s for {detected_s} s, \
                 and what it had)"
            )
        };
        match self {
            Self::Ended(how) => format!("{name} ended by itself, with {how}{}", lost(GONE_S)),
            Self::Ill(Some(Ill::Gone)) => {
                format!("{name} cannot be connected to{}", lost(GONE_S))
            }
            Self::Ill(Some(Ill::Wrong(status))) => {
                let what = status.map_or("what is no answer".to_owned(), |of| of.to_string());
                format!("{name} answered its health checks with {what}, the last of several")
            }
            Self::Ill(Some(Ill::Late) | None) => {
                format!("{name} answered no health check in time{}", lost(LATE_S))
            }
        }
    }
}

impl Yard<'_> {
    /// Takes out the instances that take requests no more, as their balancer says, or their server
    /// has ended. Returns them.
    pub(super) fn failed(&self, before: &Look, look: &Look, seconds: f64) -> Vec<Failed> {
        let mut life = self.life();
        let spares = self.spares(&mut life, look);
        let fault = |(number, server): (&usize, &Server)| {
            if let Some(how) = self.crew.ended(server) {
                return Some((*number, Fault::Ended(how)));
            }
            let of = look.instances.iter().find(|of| of.name == server.name)?;
            // One that cannot be connected to may have ended, where that is not seen.
            let may_serve = matches!(of.ill, Some(Ill::Wrong(_) | Ill::Late));
            let is_spared = spares && (may_serve || self.crew.runs(server));
            let is_out = of.state == State::Out && !is_spared;
            is_out.then_some((*number, Fault::Ill(of.ill)))
        };
        let found: Vec<(usize, Fault)> = life.servers.iter().filter_map(fault).collect();
        let now_ns = life.now_ns();
        let mut failed = Vec::with_capacity(found.len());
        for (number, fault) in found {
            let Some(leaver) = life.takes_out(number) else { continue };
            let name = &leaver.server.name;
            let taken = |of: &Look| {
                let member = of.instances.iter().find(|of| of.name == *name);
                member.map_or((0, 0.0), |member| (member.ended(), of.active_at(member)))
            };
            let (was, is) = (taken(before), taken(look));
            let rate = is.0.saturating_sub(was.0) as f64 / seconds.max(1e-3);
            let told = fault.told(name, (rate, was.1.max(is.1)));
            let answers = fault.answers();
            if self.is_followed {
                // It is somebody else's, and goes on: it comes in again when it is well.
                life.pool.out(number, now_ns);
                life.note(number, &format!("out: {told}"));
            } else {
                let later = later(life.died(number));
                let state = if answers {
                    life.pool.drain(number, now_ns);
                    "draining: failed"
                } else {
                    life.pool.end(number, now_ns);
                    "failed"
                };
                life.note(number, &format!("{state}: {told}{later}"));
            }
            failed.push(Failed { leaver, answers });
        }
        failed
    }

    /// Whether so many instances fail their checks together that none is ended for it: it is
    /// something that they share. That is told when it begins.
    fn spares(&self, life: &mut Life, look: &Look) -> bool {
        let there = || look.instances.iter().filter(|of| of.state != State::Draining);
        let failing = there().filter(|of| of.ill.is_some()).count();
        let together = fail_together(failing, there().count());
        if together && !life.spares {
            let text = format!(
                "{failing} of {} instances fail their health checks together: none is ended for \
                 that, nor gets fewer requests, as long as its server runs",
                there().count()
            );
            life.note_of("pool", &text);
        }
        life.spares = together;
        together
    }

    /// Takes out the instances whose host is gone: whatever they answer, they can be ended no more.
    /// Returns them.
    pub(super) fn stranded(&self) -> Vec<Leaver> {
        let mut life = self.life();
        let away =
            |(number, server): (&usize, &Server)| Some((*number, self.crew.is_away(server)?));
        let found: Vec<_> = life.servers.iter().filter_map(away).collect();
        let now_ns = life.now_ns();
        let mut leavers = Vec::with_capacity(found.len());
        for (number, error) in found {
            let Some(leaver) = life.takes_out(number) else { continue };
            let later = later(life.died(number));
            life.pool.end(number, now_ns);
            let (name, error) = (&leaver.server.name, chain(&error));
            life.note(number, &format!("failed: {name}: {error}{later}"));
            leavers.push(leaver);
        }
        leavers
    }

    /// Removes a server that takes no requests any more.
    pub(super) fn bury(&self, leaver: &Leaver) {
        self.removes(leaver);
        self.end(leaver.number, &leaver.server);
    }

    /// Removes a server of somebody else's that takes no requests, until it is well again. What it
    /// has it answers, where it does.
    pub(super) fn rest(&self, Failed { leaver, answers }: &Failed) {
        match answers {
            true if self.knows(leaver) => {
                drop(self.balancer.drain(&leaver.server.name, self.drain));
            }
            _ => self.removes(leaver),
        }
        self.life().resting.insert(leaver.number);
        self.wake();
    }

    fn removes(&self, leaver: &Leaver) {
        if self.knows(leaver) {
            // One that has failed meanwhile is made anew, and does not know it then.
            drop(self.balancer.remove(&leaver.server.name));
        }
    }

    /// Makes the balancer anew in its place, with the instances that take requests.
    ///
    /// # Errors
    /// Where it does not come to stand.
    pub(super) fn revive(&self, balancer: &Server) -> Result<(), TestbedError> {
        let name = &balancer.name;
        let began_ns = self.time.now();
        self.note_balancer(&format!("{name} failed: it obeys no order"));
        self.life().is_reviving = true;
        let made = self.makes_anew(balancer);
        self.life().is_reviving = false;
        self.wake();
        let count = made?;
        let took = show_duration(self.time.now() - began_ns);
        self.note_balancer(&format!("{name} is there again after {took}, with {count} instances"));
        Ok(())
    }

    /// Returns how many instances it has then. Who is to come in, or to leave, waits meanwhile.
    fn makes_anew(&self, balancer: &Server) -> Result<usize, TestbedError> {
        self.crew.again(balancer)?;
        self.balancer.forget()?;
        let mut life = self.life();
        life.lost_before = life.lost_before.plus(&life.lost_last.less(&life.lost_from));
        (life.lost_from, life.lost_last) = (Lost::default(), Lost::default());
        life.revivals += 1;
        let servers = life.servers();
        drop(life);
        for server in &servers {
            self.balancer.add(&self.newcomer(server)?)?;
        }
        Ok(servers.len())
    }

    /// How often the balancer was made anew.
    pub(super) fn revivals(&self) -> u64 {
        self.life().revivals
    }

    /// What was lost in all, where the present balancer has counted this; where it does not tell,
    /// as far as it has told.
    pub(super) fn lost(&self, seen: Option<&Lost>) -> Lost {
        let life = self.life();
        seen.unwrap_or(&life.lost_last).less(&life.lost_from).plus(&life.lost_before)
    }

    /// Notes what has become of the balancer.
    pub(super) fn note_balancer(&self, text: &str) {
        self.life().note_of("balancer", text);
    }
}

/// What is said of how late another comes in the place of one that has failed.
fn later(ns: u64) -> String {
    match ns {
        0 => String::new(),
        _ => format!(
            "; another comes after {}, as those fail that came in the place of others",
            show_duration(ns)
        ),
    }
}
