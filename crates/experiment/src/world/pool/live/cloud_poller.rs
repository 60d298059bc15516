//! A cloud that is asked, again and again, which instances an Auto Scaling group has, or which run
//! with a tag. Nothing is ever changed there.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plimsoll_monitor::announce::Announced;
use plimsoll_plan::{Follow, Plan};
use plimsoll_testbed::TestbedError;
use plimsoll_testbed::cloud::{Members, Rented, Whose};
use plimsoll_units::failure::chain;

use super::tells::Tells;
use crate::control::Control;
use crate::error::ExperimentError;
use crate::money;
use crate::prepare::Place;

/// A cloud is asked at most, and at least, so often.
const PERIODS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// A cloud that does not tell is asked after growing pauses, up to this one.
const PAUSE: Duration = Duration::from_secs(30);
/// The longest name that an instance has at its balancer.
const LONGEST: usize = 63;

/// A cloud that is asked on a thread of its own; dropped, it is asked no more.
pub(super) struct CloudPoller {
    shared: Arc<Shared>,
    /// Whose instances they are: the group `web`, at us-east-1.
    whose: String,
}

struct Shared {
    members: Members,
    /// How often it is asked.
    every: Duration,
    /// Where instances serve.
    port: u16,
    told: Mutex<LastAnswer>,
    /// Told when it is over.
    changed: Condvar,
}

/// What was told last.
struct LastAnswer {
    living: Vec<Announced>,
    /// Why it is not known any more.
    fault: Option<String>,
    is_over: bool,
}

/// The instances that a plan follows; `None` where it asks no cloud.
///
/// # Errors
/// An endpoint that cannot be used; a tag at a cloud that has none.
pub(super) fn members(plan: &Plan, place: &Place<'_>) -> Result<Option<Members>, ExperimentError> {
    let pool = plan.elastic.as_ref().map(|of| &of.pool);
    let whose = match pool.and_then(|of| of.follow.as_ref()) {
        Some(Follow::Group(name)) => Whose::Group(name.clone()),
        Some(Follow::Tag(key, value)) => Whose::Tag(key.clone(), value.clone()),
        Some(Follow::Agents) | None => return Ok(None),
    };
    let Some(testbed) = &plan.testbed else { return Ok(None) };
    let at = (money::cloud(testbed, place), testbed.scaling_endpoint.clone());
    let members = Members::new(whose, at, money::surroundings(place));
    Ok(Some(members.map_err(TestbedError::from)?))
}

impl CloudPoller {
    /// Asks for the first time, and then again and again: twice in a period of the pool. Instances
    /// serve at `port`.
    ///
    /// # Errors
    /// Credentials that cannot be had; a group that there is not; a cloud that refuses, or does not
    /// answer in time.
    pub(super) fn start(
        (follow, members): (&Follow, Members),
        (period, port): (Duration, u16),
        control: &dyn Control,
    ) -> Result<Self, ExperimentError> {
        let found = members.begin(&|| !control.goes_on()).map_err(TestbedError::from)?;
        let whose = match follow {
            Follow::Group(name) => format!("the group `{name}`"),
            Follow::Tag(key, value) => format!("the tag {key}={value}"),
            Follow::Agents => String::new(),
        };
        let whose = format!("{whose} in {}", members.at());
        let every = (period / 2).clamp(PERIODS.0, PERIODS.1);
        let told = LastAnswer { living: living(&found, port), fault: None, is_over: false };
        let told = Mutex::new(told);
        let shared = Shared { members, every, port, told, changed: Condvar::new() };
        let shared = Arc::new(shared);
        let asks = Arc::clone(&shared);
        let spawned = std::thread::Builder::new().name("following".to_owned());
        let spawned = spawned.spawn(move || asks.run());
        let failed = |error: std::io::Error| {
            ExperimentError::Conflict(format!("follow {whose}: no thread can be started: {error}"))
        };
        spawned.map_err(failed)?;
        Ok(Self { shared, whose })
    }
}

impl Drop for CloudPoller {
    /// A request that is on its way ends by its own time limit.
    fn drop(&mut self) {
        self.shared.told().is_over = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn told(&self) -> MutexGuard<'_, LastAnswer> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks until it is over.
    fn run(&self) {
        let mut pause = self.every;
        while self.waits(pause) {
            let found = self.members.look();
            let mut told = self.told();
            (told.fault, pause) = match found {
                Ok(found) => {
                    told.living = living(&found, self.port);
                    (None, self.every)
                }
                // Who was told before stays.
                Err(error) => (Some(chain(&error)), (pause * 2).min(PAUSE)),
            };
        }
    }

    /// Waits for a pause. Returns whether it is not over.
    fn waits(&self, pause: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.told(), pause, |told| !told.is_over);
        !waited.unwrap_or_else(PoisonError::into_inner).0.is_over
    }
}

impl Tells for CloudPoller {
    fn living(&self) -> Vec<Announced> {
        self.shared.told().living.clone()
    }

    fn fault(&self) -> Option<String> {
        self.shared.told().fault.clone()
    }

    /// They were asked for as it began.
    fn settles(&self) -> Duration {
        Duration::ZERO
    }

    fn way_in(&self) -> String {
        format!("each is a running one of {}, and serves at port {}", self.whose, self.shared.port)
    }

    fn words(&self) -> (String, String) {
        (format!("is of {}", self.whose), format!("it is not of {} any more", self.whose))
    }
}

/// Instances as balancers are told of them, by their ids. One without an address, or with an id
/// that cannot stand in the files of a balancer, is left out.
fn living(found: &[Rented], port: u16) -> Vec<Announced> {
    let is_name = |id: &str| {
        id.len() <= LONGEST && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
    };
    let one = |of: &Rented| {
        let at: IpAddr = of.address()?.parse().ok()?;
        is_name(&of.id)
            .then(|| Announced { name: of.id.clone(), address: SocketAddr::new(at, port) })
    };
    found.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_address_or_no_plain_id_is_left_out() {
        let of = |id: &str, private: Option<&str>, public: Option<&str>| Rented {
            id: id.to_owned(),
            private: private.map(str::to_owned),
            public: public.map(str::to_owned),
            ..Rented::default()
        };
        let found = [
            of("i-1", Some("10.0.0.1"), Some("54.0.0.1")),
            of("i-2", Some("10.0.0.2"), None),
            of("i-3", None, None),
            of("i-4", Some("host.example"), None),
            of("i:5", Some("10.0.0.5"), None),
            of(&"i".repeat(64), Some("10.0.0.6"), None),
        ];
        let told = living(&found, 80);
        let told: Vec<String> =
            told.iter().map(|of| format!("{} {}", of.name, of.address)).collect();
        assert_eq!(told, ["i-1 54.0.0.1:80", "i-2 10.0.0.2:80"]);
    }
}
