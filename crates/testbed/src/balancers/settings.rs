//! What a plan wants of a balancer, and the role that is started for it.

use std::time::Duration;

use plimsoll_units::{Words, show_duration};
use plimsoll_workload::balancer::{Kind, Rule};
use plimsoll_workload::pool::Choice;

use super::Balances;
use super::built_in::{self, BuiltIn};
use super::haproxy::Haproxy;
use super::nginx::Nginx;
use crate::error::TestbedError;
use crate::reach::Reach;
use crate::recipe::{Found, Scalar, parse};
use crate::role::{Limits, Role, Secrets};

/// The name of its role, which no plan names.
pub const ROLE: &str = "balancer";
/// How long connections that were upgraded may stay at an instance that is taken away.
const DRAINS: Duration = Duration::from_secs(30);
/// HAProxy waits for ever where it is told 0: so long is as good.
const FOR_EVER: Duration = Duration::from_secs(24 * 3600);

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
    /// The path that an instance answers that is well; `None`: it takes connections.
    pub check: Option<String>,
}

impl Settings {
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
        let recipe = Found { recipe: parse(ROLE, &text)?, text, is_own: false };
        Ok(Role {
            name: ROLE.to_owned(),
            recipe,
            count: 1,
            limits: Limits::default(),
            sysctl: [].into(),
            vars: vars.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            environment: [].into(),
            secrets: Secrets::default(),
            files: Vec::new(),
            user: None,
        })
    }

    /// The balancer that was started by this role.
    ///
    /// # Errors
    /// Where it does not answer.
    pub fn at<'a>(&self, of: Reach<'a>) -> Result<Box<dyn Balances + 'a>, TestbedError> {
        Ok(match self.kind {
            Kind::BuiltIn => Box::new(BuiltIn::of(of.folder())),
            Kind::Nginx => Box::new(Nginx::of(of, self.clone())),
            Kind::Haproxy => Box::new(Haproxy::of(of.folder(), self.clone())?),
        })
    }

    /// Whether instances get the weights that they have.
    pub(super) fn has_weights(&self) -> bool {
        matches!(self.rule, Rule::ByClient | Rule::Pool(Choice::Weighted))
    }

    fn of_built_in(&self) -> String {
        let mut words: Vec<String> =
            ["{{plimsoll}}", "balance", "--listen", "{{address}}:{{port}}", "--control"]
                .map(str::to_owned)
                .to_vec();
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
        vec![("drain", Scalar::Number(seconds(DRAINS)))]
    }

    fn of_haproxy(&self) -> Vec<(&'static str, Scalar)> {
        let text = |text: &str| Scalar::Text(text.to_owned());
        let (rule, hash) = match self.rule {
            Rule::ByClient => ("source", "consistent"),
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
            ("check", text(self.check.as_deref().unwrap_or_default())),
        ]
    }
}

fn seconds(span: Duration) -> i64 {
    i64::try_from(span.as_secs()).unwrap_or(i64::MAX)
}
