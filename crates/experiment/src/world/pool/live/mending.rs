//! What fails of a live pool: instances that answer no more, or whose host is gone, and the
//! balancer, which is made anew in its place.

use plimsoll_testbed::balance::{Lost, State};
use plimsoll_testbed::balancers::Seen as Look;
use plimsoll_testbed::{Instance as Server, TestbedError};
use plimsoll_units::failure::chain;

use super::life::Leaver;
use super::yard::Yard;

/// The longest time until the balancer knows that an instance has failed, seconds: it asks once a
/// second, waits 2 s for the answer, and asks again for another second.
const DETECTED_S: f64 = 4.0;

impl Yard<'_> {
    /// Takes out the instances that take requests no more, as their balancer says. Returns them.
    pub(super) fn failed(&self, before: &Look, look: &Look, seconds: f64) -> Vec<Leaver> {
        let mut life = self.life();
        let is_out =
            |name: &str| look.instances.iter().any(|of| of.name == name && of.state == State::Out);
        let found: Vec<usize> = life
            .servers
            .iter()
            .filter(|(_, server)| is_out(&server.name))
            .map(|(number, _)| *number)
            .collect();
        let now_ns = life.now_ns();
        let found: Vec<Leaver> = found.into_iter().filter_map(|of| life.takes_out(of)).collect();
        for Leaver { number, server, .. } in &found {
            let state = if self.is_followed {
                // It is somebody else's, and goes on: it comes in again when it is well.
                life.pool.out(*number, now_ns);
                "out"
            } else {
                life.pool.end(*number, now_ns);
                life.owed += 1;
                "failed"
            };
            let taken = |of: &Look| {
                let member = of.instances.iter().find(|of| of.name == server.name);
                member.map_or((0, 0.0), |member| (member.ended(), of.active_at(member)))
            };
            let (was, is) = (taken(before), taken(look));
            let rate = is.0.saturating_sub(was.0) as f64 / seconds.max(1e-3);
            let most = rate * DETECTED_S + was.1.max(is.1);
            life.note(*number, &format!(
                "{state}: {} answered no health check in time; it may have lost {most:.0} requests \
                 until then ({rate:.1}/s for {DETECTED_S} s, and what it had)",
                server.name
            ));
        }
        found
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
            life.pool.end(number, now_ns);
            life.owed += 1;
            life.note(number, &format!("failed: {}: {}", leaver.server.name, chain(&error)));
            leavers.push(leaver);
        }
        leavers
    }

    /// Removes a server that takes no requests any more.
    pub(super) fn bury(&self, leaver: &Leaver) {
        self.removes(leaver);
        self.end(leaver.number, &leaver.server);
    }

    /// Removes a server of somebody else's that takes no requests, until it is well again.
    pub(super) fn rest(&self, leaver: &Leaver) {
        self.removes(leaver);
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
        let took = plimsoll_units::show_duration(self.time.now() - began_ns);
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
