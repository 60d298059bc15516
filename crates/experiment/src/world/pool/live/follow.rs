//! A pool whose instances somebody else starts and ends: those that announce themselves, or that a
//! cloud tells of, get requests when they are well, and those that are gone are taken out.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::Scope;
use std::time::Duration;

use plimsoll_load::clock::Clock;
use plimsoll_monitor::announce::{Announced, Hearing};
use plimsoll_plan::{Follow, Plan};
use plimsoll_testbed::{Instance as Server, TestbedError};
use plimsoll_units::failure::chain;
use plimsoll_units::secret;
use plimsoll_units::show_duration;
use plimsoll_workload::balancer::Weights;

use super::cloud_poller::{self, CloudPoller};
use super::life::Leaver;
use super::tells::Tells;
use super::yard::{Admission, Servers, Yard};
use crate::control::{Control, News};
use crate::error::ExperimentError;
use crate::prepare::Place;

/// How often it is looked which instances are told.
const LOOK: Duration = Duration::from_millis(200);
/// When an instance that was not well is asked again.
const AGAIN: Duration = Duration::from_millis(100);
/// How long is waited for the instances of the beginning.
const BEGINS: Duration = Duration::from_secs(600);

/// Refuses what cannot be followed.
///
/// # Errors
/// Whose instances cannot be told; cells that would follow the same instances at once; others that
/// would be heard without a token.
pub(super) fn check(plan: &Plan) -> Result<(), ExperimentError> {
    let conflict = |text: String| Err(ExperimentError::Conflict(text));
    let Some(pool) = plan.elastic.as_ref().map(|of| &of.pool) else { return Ok(()) };
    let Some(follow) = &pool.follow else { return Ok(()) };
    if follow != &Follow::Agents && plan.testbed.is_none() {
        return conflict(format!(
            "follow {follow}: the plan has no [testbed], which says where the cloud is"
        ));
    }
    if plan.experiment.as_ref().is_some_and(|of| of.at_once > 1) {
        return conflict(
            "follow the same instances in several cells at once: leave `at_once` out".to_owned(),
        );
    }
    if plan.elastic.as_ref().is_some_and(|of| of.balancer.weights == Weights::SelfTest) {
        return conflict(
            "have instances test themselves that somebody else starts: leave `weights` out of \
             [balancer]"
                .to_owned(),
        );
    }
    let hears = *follow == Follow::Agents;
    if hears && !pool.heard_at.ip().is_loopback() && pool.token_file.is_none() {
        return conflict(format!(
            "hear at {} whoever announces himself: say `token_file` in [pool], whose token agents \
             give",
            pool.heard_at
        ));
    }
    Ok(())
}

/// Begins to hear, or to ask, which instances a plan follows; `None` where it follows none. They
/// serve at `port`, where a cloud tells of them.
///
/// # Errors
/// A token that cannot be had; an address that cannot be listened on; a cloud that does not tell.
pub(super) fn begin(
    plan: &Plan,
    (period, port): (Duration, u16),
    (place, control): (&Place<'_>, &dyn Control),
) -> Result<Option<Box<dyn Tells>>, ExperimentError> {
    let Some(pool) = plan.elastic.as_ref().map(|of| &of.pool) else { return Ok(None) };
    let Some(follow) = &pool.follow else { return Ok(None) };
    if let Some(members) = cloud_poller::members(plan, place)? {
        let asked = CloudPoller::start((follow, members), (period, port), control)?;
        return Ok(Some(Box::new(asked)));
    }
    let token = pool.token_file.as_ref().map(|file| {
        let token = secret::Source::File(file.clone()).reveal(|_| None, Path::new(""));
        token.map_err(|error| ExperimentError::Conflict(chain(&error)))
    });
    let token = token.transpose()?.map(String::into_bytes);
    let listening = |error: std::io::Error| {
        ExperimentError::Conflict(format!(
            "hear announcements at {}: {error}; say another `heard_at` in [pool]",
            pool.heard_at
        ))
    };
    let listener = TcpListener::bind(pool.heard_at).map_err(listening)?;
    let clock = Clock::start();
    let hearing = Hearing::start(listener, token, Arc::new(move || clock.now()));
    Ok(Some(Box::new(hearing.map_err(listening)?)))
}

/// Says whether what listens at an address answers as an instance that is well.
pub(super) type Asks<'a> = &'a (dyn Fn(SocketAddr) -> bool + Sync);

/// Those who are followed, and where servers of other roles are made anew.
pub(super) struct Followed<'a> {
    who: &'a dyn Tells,
    crew: &'a dyn Servers,
    /// Whether the pool was left by a process before.
    is_adopted: bool,
    /// The role that the instances are of.
    role: String,
    asks: Asks<'a>,
}

impl Servers for Followed<'_> {
    fn launch(&self, _: &dyn Fn(&str)) -> Result<Server, TestbedError> {
        Err(TestbedError::Wrong("start an instance of a pool that is followed".to_owned()))
    }

    fn end(&self, _: u32) -> Result<(), TestbedError> {
        Ok(())
    }

    fn again(&self, server: &Server) -> Result<(), TestbedError> {
        self.crew.again(server)
    }

    fn is_well(&self, server: &Server) -> bool {
        address(server).is_some_and(self.asks)
    }
}

impl<'a> Followed<'a> {
    /// Those who are told, of a role; `crew` has the servers of the others, which a process before
    /// may have left.
    pub(super) fn new(
        who: &'a dyn Tells,
        (crew, is_adopted): (&'a dyn Servers, bool),
        role: &str,
        asks: Asks<'a>,
    ) -> Self {
        Self { who, crew, is_adopted, role: role.to_owned(), asks }
    }

    /// The servers that a process before has left to this one, when they have had the time to be
    /// heard again. There are none where it is the first: whoever is told comes then, and is asked
    /// before it gets requests.
    pub(super) fn standing(&self, yard: &Yard<'_>) -> Vec<Server> {
        if !self.is_adopted {
            return Vec::new();
        }
        let began_ns = yard.time.now();
        // The longest period is known when the first are heard.
        while Duration::from_nanos(yard.time.now() - began_ns) < self.who.settles() {
            drop(yard.wait(yard.life(), LOOK));
        }
        self.who.living().into_iter().map(|of| self.server(&of)).collect()
    }

    fn server(&self, of: &Announced) -> Server {
        Server {
            role: self.role.clone(),
            name: of.name.clone(),
            number: 0,
            place: 0,
            host: None,
            address: of.address.ip().to_string(),
            port: of.address.port(),
            folder: PathBuf::new(),
            cgroups: Vec::new(),
            collect: BTreeMap::new(),
        }
    }

    /// Waits until so many take requests.
    ///
    /// # Errors
    /// Where that takes too long, or the user has ended it.
    pub(super) fn begins(
        &self,
        yard: &Yard<'_>,
        count: u32,
        control: &dyn Control,
    ) -> Result<(), ExperimentError> {
        let text = format!("waits for {count} instances: {}", self.who.way_in());
        control.tell(News::Says(&text));
        let (began_ns, wanted) = (yard.time.now(), count as usize);
        loop {
            let life = yard.life();
            let there = life.servers.len();
            if there >= wanted || !control.goes_on() {
                return Ok(());
            }
            drop(yard.wait(life, LOOK));
            let waited_ns = yard.time.now() - began_ns;
            if Duration::from_nanos(waited_ns) >= BEGINS {
                return Err(ExperimentError::Conflict(format!(
                    "wait for {count} instances to follow: {there} were well within {}; {}",
                    show_duration(waited_ns),
                    self.who.way_in()
                )));
            }
        }
    }

    /// Follows until all is over.
    pub(super) fn run<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        yard: &'env Yard<'_>,
        control: &dyn Control,
    ) {
        let (comes, goes) = self.who.words();
        let mut known: BTreeMap<String, (usize, SocketAddr)> = BTreeMap::new();
        for (number, server) in &yard.life().servers {
            if let Some(address) = address(server) {
                known.insert(server.name.clone(), (*number, address));
            }
        }
        while !yard.life().is_over {
            self.told(yard, control);
            let living = self.who.living();
            let gone: Vec<String> = known
                .iter()
                .filter(|(name, (_, address))| {
                    !living.iter().any(|of| of.name == **name && of.address == *address)
                })
                .map(|(name, _)| name.clone())
                .collect();
            for name in gone {
                if let Some((number, _)) = known.remove(&name)
                    && let Some(leaver) = yard.leaves(number, &goes)
                {
                    yard.spawn(scope, Some(&name), move || yard.parts(&leaver));
                }
            }
            let resting = std::mem::take(&mut yard.life().resting);
            for number in resting {
                // It is the same one: it was not ended, and is charged from its start on.
                let of =
                    living.iter().find(|of| known.get(&of.name).map(|of| of.0) == Some(number));
                let Some(server) = of.map(|of| self.server(of)) else { continue };
                let name = server.name.clone();
                yard.spawn(scope, Some(&name), move || yard.configures(number, &server));
            }
            for of in living {
                // One waits as long as another of its name leaves: balancers know them by that.
                if let Entry::Vacant(entry) = known.entry(of.name.clone())
                    && !yard.life().is_at(&of.name)
                {
                    let server = self.server(&of);
                    let number = yard.comes(&server, &comes);
                    entry.insert((number, of.address));
                    yard.spawn(scope, Some(&of.name), move || yard.configures(number, &server));
                }
            }
            drop(yard.wait(yard.life(), LOOK));
        }
    }

    /// Takes note where it is not known any more which instances live, and where it is again: until
    /// then the pool stays as it is.
    fn told(&self, yard: &Yard<'_>, control: &dyn Control) {
        let fault = self.who.fault();
        let before = std::mem::replace(&mut yard.life().unknown, fault.clone());
        if fault == before {
            return;
        }
        let text = match &fault {
            Some(why) => format!("the pool stays as it is, as nobody tells its instances: {why}"),
            None => "its instances are told again".to_owned(),
        };
        yard.life().note_of("follow", &text);
        control.tell(if fault.is_some() { News::Warns(&text) } else { News::Says(&text) });
    }
}

impl Yard<'_> {
    /// An instance has come that somebody else has started. Returns its number.
    fn comes(&self, server: &Server, why: &str) -> usize {
        let mut life = self.life();
        let now_ns = life.now_ns();
        let number = life.pool.launch(now_ns, u64::MAX, 1.0).number;
        let (name, address, port) = (&server.name, &server.address, server.port);
        life.note(number, &format!("running: {name} at {address}:{port} {why}"));
        number
    }

    /// Gives an instance that has come requests when it is well. One that its balancer does not
    /// take, as that has failed, is given to it again.
    fn configures(&self, number: usize, server: &Server) {
        let mut life = self.life();
        if life.is_wanted(number) {
            life.note(number, "configuring");
        }
        drop(life);
        let mut is_refused = false;
        while self.life().is_wanted(number) {
            if self.crew.is_well(server) {
                match self.goes_in(number, server) {
                    Admission::In => return self.wake(),
                    Admission::Unwanted => return,
                    Admission::Refused(error) => {
                        let mut life = self.life();
                        if !is_refused && life.is_wanted(number) {
                            is_refused = true;
                            life.note(number, &format!("waits: {}", chain(&error)));
                        }
                    }
                }
            }
            drop(self.wait(self.life(), AGAIN));
        }
    }

    /// Takes out an instance that somebody else has ended. Returns it where it takes requests.
    fn leaves(&self, number: usize, why: &str) -> Option<Leaver> {
        let mut life = self.life();
        life.ends(number);
        let leaver = life.takes_out(number);
        match &leaver {
            Some(of) => life.note(number, &format!("draining: {}: {why}", of.server.name)),
            None => life.note(number, &format!("terminated: {why}")),
        }
        leaver
    }

    /// Takes an instance out of the balancer: what it has it answers, where it still does.
    fn parts(&self, leaver: &Leaver) {
        match self.crew.is_well(&leaver.server) {
            true => self.lower(leaver),
            false => self.bury(leaver),
        }
    }
}

fn address(of: &Server) -> Option<SocketAddr> {
    format!("{}:{}", of.address, of.port).parse().ok()
}
