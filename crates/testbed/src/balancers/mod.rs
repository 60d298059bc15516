//! The balancers of pools: what gives requests to instances that come and go.
//!
//! | module | what |
//! | --- | --- |
//! | `built_in` | `plimsoll balance`, by its control socket |
//! | `nginx` | nginx, by a file of its servers and a graceful reload |
//! | `haproxy` | HAProxy, by its runtime socket, without a reload |
//! | `workers` | those of nginx's before a reload |
//! | `ends` | the log of nginx |
//! | `checks` | whether instances are well, for a balancer that does not ask |
//! | `several` | several of them behind one address, which moves |
//! | `settings` | what a plan wants of any of them, and the role that is started |
//! | `upstream` | the file of nginx's servers |
//! | `tally` | what nginx and HAProxy have written about requests that ended |
//!
//! Another one is one file with an `impl` of [`Balances`], a word of
//! [`Kind`](plimsoll_workload::balancer::Kind), and a line in `settings`.

mod built_in;
mod checks;
mod ends;
mod haproxy;
mod nginx;
mod settings;
mod several;
mod tally;
mod upstream;
mod workers;

use std::net::SocketAddr;
use std::time::Duration;

pub use settings::{ROLE, Settings};

use crate::balance::{Ill, Lost, State};
use crate::command::Deadline;
use crate::error::TestbedError;

/// How long after the last request it may take until its end is told.
const SETTLES: Duration = Duration::from_secs(1);

/// An instance that is to take requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Newcomer {
    /// Its name, which no other has.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// How fast it is, beside the others; 1 where nothing is known of it.
    pub weight: f64,
}

/// What gives requests to the instances of a pool. It may be asked from several threads.
pub trait Balances: Send + Sync {
    /// Gives requests to one more instance. Returns when it takes them.
    ///
    /// # Errors
    /// Where the balancer does not answer, or refuses.
    fn add(&self, newcomer: &Newcomer) -> Result<(), TestbedError>;

    /// Gives an instance no more requests, and forgets it. Returns when it has ended what it has,
    /// and no later than some seconds after `within`: what it has still, open connections of
    /// WebSockets too, is cut then, or when it is ended, and lost as `drained`. What others have is
    /// not touched.
    ///
    /// # Errors
    /// Where the balancer does not answer, or has no such instance.
    fn drain(&self, name: &str, within: Duration) -> Result<(), TestbedError>;

    /// Forgets an instance at once, as one that has failed.
    ///
    /// # Errors
    /// Where the balancer does not answer, or has no such instance.
    fn remove(&self, name: &str) -> Result<(), TestbedError>;

    /// The balancer was made anew in its place: it has no instances, and has counted nothing.
    ///
    /// # Errors
    /// Where it does not answer.
    fn forget(&self) -> Result<(), TestbedError>;

    /// How all stands.
    ///
    /// # Errors
    /// Where the balancer does not answer.
    fn look(&self) -> Result<BalancerCounts, TestbedError>;

    /// How all stands, with the response times since they were taken the last time.
    ///
    /// # Errors
    /// Where the balancer does not answer.
    fn take(&self) -> Result<BalancerCounts, TestbedError>;

    /// How all stands when the ends of all requests are told, or a second has passed.
    ///
    /// # Errors
    /// Where the balancer does not answer.
    fn settled(&self) -> Result<BalancerCounts, TestbedError> {
        settled(self)
    }
}

/// Looks until the ends of all requests are told, or a second has passed.
fn settled<B: Balances + ?Sized>(of: &B) -> Result<BalancerCounts, TestbedError> {
    let deadline = Deadline::within(SETTLES);
    loop {
        let seen = of.look()?;
        if seen.untold == 0 || deadline.is_over() {
            return Ok(seen);
        }
        deadline.pause();
    }
}

/// How all stands at a balancer, as far as it tells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BalancerCounts {
    /// Connections of clients that are open.
    pub connections: u64,
    /// Requests of clients since the balancer began.
    pub requests: u64,
    /// Those that instances answered to the last byte, whatever the status.
    pub answered: u64,
    /// Time from when a request was given to an instance to the last byte of its answer, all
    /// together, microseconds.
    pub response_us: u64,
    /// Requests that wait for a place.
    pub waiting: u64,
    /// Requests that instances have.
    pub active: u64,
    /// Requests that were lost, by cause.
    pub lost: Lost,
    /// Requests that are over, of which the balancer has not told how they ended.
    pub untold: u64,
    /// The instances, in the order in which they were added.
    pub instances: Vec<Member>,
    /// What has become of the balancer itself since the last look, a sentence each.
    pub notes: Vec<String>,
    /// Where they were taken: response times, nanoseconds, and how many answers took them.
    pub times: Vec<(u64, u64)>,
}

/// An instance, as its balancer sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Whether it takes requests.
    pub state: State,
    /// Requests that it has; `None` where the balancer does not tell.
    pub active: Option<u32>,
    /// Requests that it answered to the last byte, whatever the status.
    pub answered: u64,
    /// Requests that it failed.
    pub failed: u64,
    /// What is wrong with it, as its last health check has it.
    pub ill: Option<Ill>,
}

impl Member {
    /// Requests that it was given and that have ended.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.answered + self.failed
    }
}

impl BalancerCounts {
    /// Requests that an instance has; where the balancer does not tell, as many as each has where
    /// all that take requests have equally many.
    #[must_use]
    pub fn active_at(&self, of: &Member) -> f64 {
        of.active.map_or_else(|| self.active as f64 / self.ready().max(1) as f64, f64::from)
    }

    /// How many instances take requests.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.instances.iter().filter(|of| of.state == State::In).count()
    }

    /// The mean share of so many cores that are busy at the instances that take requests, each
    /// request taking one; `None` where there is none. Where the balancer does not tell what each
    /// has, it is as if they had equally many, which is the most that it can be.
    #[must_use]
    pub fn busy(&self, cores: f64) -> Option<f64> {
        let takes = || self.instances.iter().filter(|of| of.state == State::In);
        let count = takes().count() as f64;
        let share = |of: &Member| self.active_at(of).min(cores) / cores;
        (count > 0.0).then(|| takes().map(share).sum::<f64>() / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(state: State, active: Option<u32>) -> Member {
        Member { name: "web-1".to_owned(), state, active, answered: 0, failed: 0, ill: None }
    }

    #[test]
    fn what_is_busy_is_what_is_told_or_the_most_that_it_can_be() {
        let of =
            |active, instances| BalancerCounts { active, instances, ..BalancerCounts::default() };
        let busy = |seen: &BalancerCounts| (seen.busy(2.0).unwrap() * 100.0).round();
        let told = of(5, vec![member(State::In, Some(5)), member(State::In, Some(0))]);
        assert!((busy(&told) - 50.0).abs() < 0.1);
        let untold = of(3, vec![member(State::In, None), member(State::In, None)]);
        assert!((busy(&untold) - 75.0).abs() < 0.1);
        let draining = of(9, vec![member(State::Draining, Some(9)), member(State::In, Some(1))]);
        assert!((busy(&draining) - 50.0).abs() < 0.1);
        assert_eq!(draining.ready(), 1);
        assert_eq!(of(1, vec![member(State::Out, None)]).busy(2.0), None);
    }
}
