//! The live pool as its controller has it: launches instances, takes them away, and replaces those
//! that fail.

use std::thread::Scope;
use std::time::Duration;

use plimsoll_elastic::controller::Plant;
use plimsoll_elastic::observation::Instance as ObservedInstance;
use plimsoll_testbed::balancers::BalancerCounts as Look;

use super::life::Life;
use super::yard::Yard;

/// The live pool as a controller has it.
pub(super) struct LivePlant<'scope, 'env, 'a> {
    pub(super) scope: &'scope Scope<'scope, 'env>,
    pub(super) yard: &'env Yard<'a>,
    /// How many were launched, and taken away.
    pub(super) scaled: (u64, u64),
}

impl LivePlant<'_, '_, '_> {
    /// Takes out what has failed since the look before, some seconds ago, and sees to it that there
    /// are as many instances as were wanted last.
    pub(super) fn mend(&mut self, before: &Look, look: &Look, seconds: f64) {
        let yard = self.yard;
        for leaver in yard.stranded() {
            // What it has it may answer still.
            yard.spawn(self.scope, None, move || yard.lower(&leaver));
        }
        for failed in yard.failed(before, look, seconds) {
            let name = failed.leaver.server.name.clone();
            yard.spawn(self.scope, Some(&name), move || match (yard.is_followed, failed.answers) {
                (true, _) => yard.rest(&failed),
                (false, true) => yard.lower(&failed.leaver),
                (false, false) => yard.bury(&failed.leaver),
            });
        }
        while yard.life().lacks() && self.start() {
            let mut life = yard.life();
            if life.owed > 0 {
                life.owed -= 1;
                life.churn.replaced += 1;
            }
        }
    }

    /// Launches an instance, unless whoever starts them has refused just before.
    fn start(&self) -> bool {
        let yard = self.yard;
        let mut life = yard.life();
        let asked_ns = life.time.now();
        if yard.is_followed || life.is_over || !life.asks(asked_ns) {
            return false;
        }
        let boot = &yard.setup.boot;
        let least_ns =
            boot.boot.sample_ns(&mut life.boot) + boot.configure.sample_ns(&mut life.boot);
        let now_ns = life.now_ns();
        let number = life.pool.launch(now_ns, u64::MAX, 1.0).number;
        life.note(number, "requested");
        drop(life);
        yard.spawn(self.scope, None, move || {
            yard.raise(number, asked_ns, Duration::from_nanos(least_ns));
        });
        true
    }
}

impl Plant for LivePlant<'_, '_, '_> {
    fn now_ns(&self) -> u64 {
        self.yard.life().now_ns()
    }

    fn instances(&self) -> Vec<ObservedInstance> {
        let life = self.yard.life();
        life.pool.seen(life.now_ns())
    }

    fn launch(&mut self) -> bool {
        let is_on_its_way = self.start();
        self.scaled.0 += u64::from(is_on_its_way);
        is_on_its_way
    }

    fn remove(&mut self) -> bool {
        let yard = self.yard;
        if yard.is_followed {
            return false;
        }
        let mut life = yard.life();
        let (now_ns, setup) = (life.now_ns(), yard.setup);
        let Life { pool, termination, .. } = &mut *life;
        let chosen = pool.choose(setup.termination, &setup.prices, now_ns, termination);
        let Some(of) = chosen else { return false };
        life.pool.drain(of.number, now_ns);
        life.note(of.number, "draining");
        let leaver = life.takes_out(of.number);
        if leaver.is_none() {
            // It is not charged any more; its thread ends it when it comes to stand.
            life.pool.end(of.number, now_ns);
        }
        drop(life);
        self.scaled.1 += 1;
        match leaver {
            Some(leaver) => yard.spawn(self.scope, None, move || yard.lower(&leaver)),
            None => yard.wake(),
        }
        true
    }
}
