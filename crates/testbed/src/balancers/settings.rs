//! What a plan wants of a balancer, and the role that is started for it.

use std::time::Duration;

use plimsoll_units::{Words, show_duration};
use plimsoll_workload::balancer::{Kind, Rule};
use plimsoll_workload::pool::Choice;

use super::Balances;
use super::built_in::{self, BuiltIn};
use super::haproxy::Haproxy;
use super::nginx::Nginx;
use super::several::{One, Several};
use crate::error::TestbedError;
use crate::provider::Provider;
use crate::reach::{Reach, cannot_move};
use crate::recipe::{LocatedRecipe, Scalar, parse};
use crate::role::{Limits, Role, Secrets};

/// The name of its role, which no plan names.
pub const ROLE: &str = "balancer";
/// HAProxy waits for ever where it is told 0: so long is as good.
const FOR_EVER: Duration = Duration::from_secs(24 * 3600);

/// Since when a balancer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// It was just started.
    Now,
    /// A process before has left it: it has instances, and has counted.
    Before,
    /// It does not stand any more.
    Gone,
}

/// What a plan wants of a balancer.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which program it is.
    pub kind: Kind,
    /// Which instance takes a request.
    pub rule: Rule,
    /// The most requests of an instance at once; `None`: as many as come.
    pub limit: Option<u32>,
    /// The most requests that wait where no instance has a place.
    pub queue: u32,
    /// How long a request waits; `None`: as long as its client does.
    pub queue_timeout: Option<Duration>,
    /// How many there are, of which one gives the requests and the others stand by.
    pub count: u32,
    /// The path that an instance answers that is well; `None`: it takes connections.
    pub check: Option<String>,
}

impl Settings {
    /// Refuses what cannot be done with the provider of a bed.
    ///
    /// # Errors
    /// Several balancers where no address can be moved.
    pub fn check(&self, provider: &dyn Provider) -> Result<(), TestbedError> {
        let can_move = || provider.moves("", "", None, "").is_some();
        if self.count > 1 && !can_move() { Err(cannot_move(provider)) } else { Ok(()) }
    }

    /// The role of the balancer in a bed.
    ///
    /// # Errors
    /// A recipe that is none.
    pub fn role(&self) -> Result<Role, TestbedError> {
        let (text, vars) = match self.kind {
            Kind::BuiltIn => (self.of_built_in(), Vec::new()),
            Kind::Nginx => (include_str!("nginx.toml").to_owned(), self.of_nginx()),
            Kind::Haproxy => (include_str!("haproxy.toml").to_owned(), self.of_haproxy()),
        };
        let recipe = LocatedRecipe { recipe: parse(ROLE, &text)?, text, is_own: false };
        Ok(Role {
            name: ROLE.to_owned(),
            recipe,
            count: self.count.max(1),
            limits: Limits::default(),
            sysctl: [].into(),
            vars: vars.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            environment: [].into(),
            secrets: Secrets::default(),
            files: Vec::new(),
            user: None,
            image: None,
        })
    }

    /// The balancer that was started by this role; where there are several, the first of them has
    /// their address. One that stands since a process before, of which it is `adopted`, keeps its
    /// instances and counts from now on; of several, the one that has the address keeps it while it
    /// takes connections.
    ///
    /// # Errors
    /// Where one does not answer, or the address cannot be given to it.
    pub fn at<'a>(
        &self,
        all: Vec<Reach<'a>>,
        adopted: bool,
    ) -> Result<Box<dyn Balances + 'a>, TestbedError> {
        let Some((first, others)) = all.split_first() else {
            return Err(TestbedError::Wrong("find the balancer: it is gone".to_owned()));
        };
        if others.is_empty() {
            return self.one(first.clone(), if adopted { Since::Before } else { Since::Now });
        }
        let address = first.shared_address()?;
        let active = if adopted { active(&all, &address)? } else { 0 };
        if !adopted {
            first.takes_address(&address, None)?;
        }
        let one = |of: &Reach<'a>| {
            let (name, lives) = (of.name().to_owned(), of.clone());
            let since = match (adopted, of.takes_connections()) {
                (false, _) => Since::Now,
                (true, true) => Since::Before,
                (true, false) => Since::Gone,
            };
            let (balancer, has_failed) = (self.one(of.clone(), since)?, since == Since::Gone);
            Ok(One {
                name,
                balancer,
                has_failed,
                // What a process has left that has ended may take connections still.
                lives: Box::new(move || lives.process().is_some() && lives.takes_connections()),
            })
        };
        let members = all.iter().map(one).collect::<Result<_, TestbedError>>()?;
        let moves = move |from: usize, to: usize| all[to].takes_address(&address, Some(&all[from]));
        Ok(Box::new(Several::of(members, active, Box::new(moves))))
    }

    /// Where the balancer takes requests: its address, or that which several share.
    ///
    /// # Errors
    /// Where there is none that can be shared.
    pub fn front(&self, first: &Reach<'_>) -> Result<String, TestbedError> {
        match self.count {
            0 | 1 => Ok(first.address().to_owned()),
            _ => first.shared_address(),
        }
    }

    fn one<'a>(&self, of: Reach<'a>, since: Since) -> Result<Box<dyn Balances + 'a>, TestbedError> {
        Ok(match self.kind {
            // It counts by itself, and knows its instances.
            Kind::BuiltIn => Box::new(BuiltIn::of(of.folder())),
            Kind::Nginx if since == Since::Before => Box::new(Nginx::adopted(of, self.clone())?),
            Kind::Nginx => Box::new(Nginx::of(of, self.clone())),
            Kind::Haproxy => Box::new(Haproxy::of(of.folder(), self.clone(), since)?),
        })
    }

    /// Where each of them listens: on all addresses that it is given, where there are several.
    fn listens(&self) -> &'static str {
        if self.count > 1 { "0.0.0.0" } else { "{{address}}" }
    }

    fn of_built_in(&self) -> String {
        let mut words: Vec<String> =
            ["{{plimsoll}}", "balance", "--listen"].map(str::to_owned).to_vec();
        words.push(format!("{}:{{{{port}}}}", self.listens()));
        words.push("--control".to_owned());
        words.push(format!("{{{{folder}}}}/{}", built_in::CONTROL));
        let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
        flag("--choose", self.rule.plain().word().to_owned());
        if let Some(ties) = self.rule.ties() {
            flag("--ties", ties.word().to_owned());
        }
        if let Some(limit) = self.limit {
            flag("--limit", limit.to_string());
        }
        flag("--queue", self.queue.to_string());
        if let Some(path) = &self.check {
            flag("--check", path.clone());
        }
        if let Some(longest) = self.queue_timeout {
            let ns = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
            flag("--queue-timeout", show_duration(ns));
        }
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        format!(
            "about = \"The built-in balancer.\"\nport = 8080\nstart = [{}]\ncheck = {{}}\n",
            words.join(", ")
        )
    }

    fn of_nginx(&self) -> Vec<(&'static str, Scalar)> {
        vec![("listens", Scalar::Text(self.listens().to_owned()))]
    }

    fn of_haproxy(&self) -> Vec<(&'static str, Scalar)> {
        let text = |text: &str| Scalar::Text(text.to_owned());
        let (rule, hash) = match self.rule {
            Rule::ByClient => ("source", "consistent sdbm avalanche"),
            Rule::Pool(Choice::Random) => ("random(1)", ""),
            Rule::Pool(Choice::TwoChoices) => ("random(2)", ""),
            Rule::Pool(Choice::RoundRobin | Choice::Weighted) => ("roundrobin", ""),
            Rule::Pool(Choice::Fair(_) | Choice::LeastConnections(_)) => ("leastconn", ""),
        };
        // Without a queue it waits for the least time that HAProxy can wait.
        let waits = match self.queue {
            0 => Duration::from_millis(1),
            _ => self.queue_timeout.unwrap_or(FOR_EVER),
        };
        let waits_ms = i64::try_from(waits.as_millis().max(1)).unwrap_or(i64::MAX);
        vec![
            ("rule", text(rule)),
            ("hash", text(hash)),
            ("queue", Scalar::Number(i64::from(self.queue))),
            ("waits_ms", Scalar::Number(waits_ms)),
            ("listens", text(self.listens())),
            ("check", text(self.check.as_deref().unwrap_or_default())),
        ]
    }
}

/// The place of the balancer that has their address. Where none has it that takes connections, the
/// first that does takes it.
fn active(all: &[Reach<'_>], address: &str) -> Result<usize, TestbedError> {
    let has_it = |of: &Reach<'_>| of.has_address(address);
    let holds = all.iter().map(has_it).collect::<Result<Vec<_>, _>>()?;
    let holder = holds.iter().position(|has_it| *has_it);
    if let Some(holder) = holder.filter(|at| all[*at].takes_connections()) {
        return Ok(holder);
    }
    let living = all.iter().position(Reach::takes_connections).ok_or_else(|| {
        TestbedError::Wrong("adopt the balancers: none of them takes connections".to_owned())
    })?;
    all[living].takes_address(address, holder.map(|at| &all[at]))?;
    Ok(living)
}
