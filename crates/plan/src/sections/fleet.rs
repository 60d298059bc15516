//! `[fleet]`: the processes that offer a load together, each a part of it, or that execute the
//! cells of what is simulated.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::{ParseError, nearest};
use serde_json::{Value as Json, json};

use crate::flag::Group;
use crate::reading::Reading;
use crate::reading::tree::{Node, Value};
use crate::section::Section;
use crate::sections::hosts::{Host, host_of_text, read_hosts, write_hosts};
use crate::sections::testbed::TEXTS;
use crate::takes::{Count, DURATION, File, Line, List, Own, Parsed, Small, Switch};
use crate::write::Writer;

/// So many workers a load may have.
const WORKERS: Small = Count(1..=256_u32);
/// A worker of this host is lost after so much silence.
const LOST_HERE: Duration = Duration::from_secs(2);
/// One that is elsewhere, where the network may be silent too.
const LOST_ELSEWHERE: Duration = Duration::from_secs(10);
/// The cells of one are given to others after so much: nothing is harmed by waiting.
const LOST_WITH_CELLS: Duration = Duration::from_secs(30);

section! {
    /// The processes that offer the load together, each a part of it; of what is simulated, those
    /// that execute the cells.
    ["fleet"]
    #[derive(Eq)]
    pub struct Fleet {
        /// How many processes offer the load together, each a part of it, or execute simulated
        /// cells. With `hosts` there is one on each.
        workers: u32 { WORKERS, or 1, "4" }
            flag [Group::Fleet.flag("workers", "N")
                .says("Offer the load by so many processes of this host, each a part of it")]
        /// The hosts that offer the load together, reached by `ssh`: the name of each, and its
        /// address, or a table with `address`, `user` and `port`; or `"bench@gen1:22,gen2"`, or a
        /// list of such.
        hosts: BTreeMap<String, Host> { HOSTS, or BTreeMap::new(), r#"{ gen1 = "10.0.1.5" }"# }
            flag [Group::Fleet.flag("on", "HOST,…")
                .says("Offer the load from these hosts together, by ssh: [USER@]HOST[:PORT]")]
        /// The one of the hosts, or of the workers at the broker, that does it alone.
        from: Option<String> { Line("name"), "gen1" }
        /// The words of a command that starts a worker somewhere: those of the worker follow them.
        start: Vec<String> { START, or Vec::new(), r#"["srun", "-n1", "--exclusive"]"# }
        /// The broker at which workers wait that can only call out.
        bus: Option<String> { BUS, "amqps://controller@broker/fleet" }
            flag [Group::Fleet.flag("bus", "URL")
                .says("Offer the load by workers that wait at this broker: amqps://USER@HOST/VHOST")]
        /// The secret key by which workers at the broker know this controller.
        key: Option<PathBuf> { File, "controller.key" }
            flag [Group::Fleet.flag("bus-key", "FILE")
                .says("The secret key of this controller, for --bus: `plimsoll fleet key NAME`")]
        /// The public keys of workers at the broker that may answer, with their names and labels.
        known: Option<PathBuf> { File, "workers.txt" }
            flag [Group::Fleet.flag("known", "FILE")
                .says("The public keys of the workers that may answer, for --bus")]
        /// Labels that a worker at the broker must have.
        need: BTreeMap<String, String> { TEXTS, or BTreeMap::new(), r#"{ region = "eu" }"# }
        /// Certificates to trust the broker by, as PEM.
        bus_ca: Option<PathBuf> { File, said "the system's", "ca.pem" }
        /// Whether the broker is spoken to without TLS, though it is not on this host.
        bus_plain: bool { Switch, or false, "true" }
        /// The configuration of `ssh`.
        ssh_config: Option<PathBuf> { File, said "the user's own", "ssh_config" }
        /// A worker that has said nothing for so long is lost, and the load ends; its cells are
        /// given to others.
        lost_after: Option<Duration> {
            DURATION,
            said "2s; 10s with `hosts`, `start` or `bus`; 30s of cells", "5s"
        }
    }
}

const BUS: Parsed<String> = Parsed::text("URL", "a broker such as amqps://me@broker/fleet", bus);

/// A broker's URL, as far as it can be told without one: what reaches it reads the rest.
fn bus(text: &str) -> Result<String, ParseError> {
    let rest = text.strip_prefix("amqps://").or_else(|| text.strip_prefix("amqp://"));
    let wrong = |wanted: &str| ParseError::new(wanted, text, 0, text.len());
    let authority = rest.ok_or_else(|| wrong("amqps:// or amqp://, and a host"))?;
    let authority = authority.split('/').next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, _)) if user.contains(':') => {
            // A password is not repeated.
            let wanted = "a URL without a password, which PLIMSOLL_BUS_PASSWORD has instead";
            Err(ParseError::new(wanted, "amqps://…", 0, 0))
        }
        _ if authority.is_empty() => Err(wrong("a host behind the scheme")),
        _ => Ok(text.to_owned()),
    }
}

const START: List<Line> = List(Line("word"), "list of words");

const HOSTS: Own<BTreeMap<String, Host>> = Own {
    takes: "table, text or list",
    schema: schema_of_hosts,
    // As one value: a flag of a map is given again for each of its entries.
    is_map: false,
    read: read_generators,
    write: write_hosts,
};

fn schema_of_hosts() -> Json {
    json!({"type": ["object", "string", "array"]})
}

/// Reads hosts that offer a load: nothing is served there.
fn read_generators(reading: &Reading, node: &Node) -> Option<BTreeMap<String, Host>> {
    let texts: Option<Vec<&str>> = match &node.value {
        Value::Text(text) | Value::Typed(text) => Some(text.split(',').map(str::trim).collect()),
        Value::List(nodes) => Some(nodes.iter().filter_map(|of| reading.line(of)).collect()),
        _ => None,
    };
    let Some(texts) = texts else {
        let hosts = read_hosts(reading, node)?;
        let serves =
            |of: &&Host| of.serves.is_some() || !of.roles.is_empty() || !of.tags.is_empty();
        if hosts.values().any(|of| serves(&of)) {
            let hint = "`serves`, `role`, `roles` and `tags` are of hosts in [testbed.hosts]";
            let message = "expected `address`, `user` and `port` of hosts that offer a load";
            reading.fault(node.place, message, Some(hint.to_owned()));
            return None;
        }
        return Some(hosts);
    };
    let mut hosts = BTreeMap::new();
    for part in texts {
        let fault = |message: String| {
            let hint = "hosts are written [USER@]HOST[:PORT], with commas between them";
            reading.fault(node.place, message, Some(hint.to_owned()));
        };
        let Some((name, host)) = host_of_text(part) else {
            fault(format!("expected a host, found `{part}`"));
            return None;
        };
        if hosts.insert(name.clone(), host).is_some() {
            fault(format!("expected each host once, found `{name}` twice"));
            return None;
        }
    }
    Some(hosts)
}

/// What several processes cannot go with: the section, and why.
const WITHOUT: [(&str, &str); 1] = [("tune", "a search for parameters")];

impl Fleet {
    /// Reads the section, and says what of the plan it does not go with.
    pub(crate) fn read_beside(section: &Section<'_>, top: &Section<'_>) -> Option<Self> {
        for (section, what) in WITHOUT.into_iter().filter(|(section, _)| top.has(section)) {
            let message = format!("`fleet` does not go with {what}: [{section}]");
            top.fault("fleet", message, Some("leave one of them out"));
        }
        let fleet = Self::read_keys(section)?;
        let beside = |key: &str, other: &str, why: &str| {
            if section.has(key) && section.has(other) {
                let message = format!("`{key}` does not go with `{other}`: {why}");
                section.fault_beside(key, other, message, Some("keep one of them"));
            }
        };
        beside("workers", "hosts", "there is one worker on each host");
        beside("start", "hosts", "those are reached by `ssh`");
        beside("bus", "hosts", "workers are at a broker, or at the end of `ssh`");
        beside("bus", "start", "workers at a broker have started themselves");
        for (key, value) in [("key", "controller.key"), ("known", "workers.txt")] {
            if section.has("bus") && !section.has(key) {
                section.missing_beside(key, "bus", value);
            }
        }
        for key in ["key", "known", "need", "bus_ca", "bus_plain"] {
            if section.has(key) && !section.has("bus") {
                section.missing_beside("bus", key, "amqps://controller@broker/fleet");
            }
        }
        if section.has("ssh_config") && fleet.hosts.is_empty() {
            section.missing_beside("hosts", "ssh_config", "{ gen1 = \"10.0.1.5\" }");
        }
        if section.has("hosts") && fleet.hosts.is_empty() {
            section.fault("hosts", "expected a host at least", Some("{ gen1 = \"10.0.1.5\" }"));
        }
        if let Some(from) = &fleet.from {
            let near = nearest(from, fleet.hosts.keys().map(String::as_str));
            let hint = near.map(|near| format!("did you mean `{near}`?"));
            match () {
                () if fleet.bus.is_some() || fleet.hosts.contains_key(from) => {}
                () if fleet.hosts.is_empty() => {
                    section.missing_beside("hosts", "from", "{ gen1 = \"10.0.1.5\" }");
                }
                () => section.fault(
                    "from",
                    format!("expected one of `hosts`, found `{from}`"),
                    hint.as_deref(),
                ),
            }
        }
        Some(fleet)
    }

    /// The hosts that offer the load, or the one that does it alone.
    pub fn generators(&self) -> impl Iterator<Item = (&String, &Host)> {
        let is_meant = |name: &String| self.from.as_ref().is_none_or(|from| from == name);
        self.hosts.iter().filter(move |(name, _)| is_meant(name))
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(Self::SECTION.path);
        let mut left_out = Vec::new();
        left_out.extend(if self.hosts.is_empty() { ["hosts"] } else { ["workers"] });
        left_out.extend(self.start.is_empty().then_some("start"));
        left_out.extend(self.need.is_empty().then_some("need"));
        left_out.extend((!self.bus_plain).then_some("bus_plain"));
        self.write_keys(out, &left_out);
    }

    /// How many workers there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        let hosts = u32::try_from(self.generators().count()).unwrap_or(u32::MAX);
        match self.from {
            Some(_) => 1,
            None if hosts > 0 => hosts,
            None => self.workers,
        }
    }

    /// Whether its workers are children of the process that has the plan.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.hosts.is_empty() && self.start.is_empty() && self.bus.is_none()
    }

    /// The silence after which the cells of a worker are given to others.
    #[must_use]
    pub fn cells_lost_after(&self) -> Duration {
        self.lost_after.unwrap_or(LOST_WITH_CELLS)
    }

    /// The silence after which a worker is lost.
    #[must_use]
    pub fn lost_after(&self) -> Duration {
        let usual = if self.is_here() { LOST_HERE } else { LOST_ELSEWHERE };
        self.lost_after.unwrap_or(usual)
    }
}
