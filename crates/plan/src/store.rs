//! `[store]`: what a store is asked for, where the target's URL is that of one: `redis://`,
//! `memcached://`, `mysql://`, `postgres://` or `cassandra://`.

use plimsoll_units::{ParseError, count};
use plimsoll_workload::request::Scheme;
use plimsoll_workload::size::Sizes;
use plimsoll_workload::store::{Consistency, Keys, Mix, Named, RECORDS, VALUE_BYTES, Workload};

use crate::key::{SectionKeys, key};
use crate::section::Section;
use crate::takes::{Form, Parsed, Small, Switch};
use crate::target::Target;
use crate::write::Writer;

/// The keys of `[store]`.
pub(crate) static STORE: SectionKeys = SectionKeys {
    path: "store",
    about: "What a store is asked for.",
    groups: &[&[
        key!("workload": NAMED, or Named::ReadHeavy, "balanced",
            "A named workload: write-only, read-only, read-heavy, balanced or read-latest."),
        key!("mix": MIX, said "the workload's", "read:80%,update:20%",
            "The shares of reads, updates and insertions."),
        key!("keys": KEYS, said "the workload's", "hotset:20%,80%",
            "How popular each record is: zipf, zipf-plain, uniform, latest, hotset."),
        key!("records": RECORDS_TAKEN, or RECORDS_DEFAULT, "100k",
            "How many records the data set has."),
        key!("value_size": VALUE_SIZE, or Sizes::Fixed(VALUE_DEFAULT), "uniform:100B..9KiB",
            "How large a value is: a size, or a distribution of sizes."),
        key!("consistency": CONSISTENCY, or Consistency::One, "quorum",
            "How many replicas of Cassandra take part in an operation."),
        key!("replication": REPLICAS, said "1", "3",
            "How many replicas a record has in a keyspace that `plimsoll prepare` makes."),
        key!("cold": Switch, or false, "true",
            "Begins with empty caches: restarts the store, and drops this machine's page cache."),
    ]],
    shorthand: None,
    choices: &[],
};

/// Records of a data set where the plan does not say.
const RECORDS_DEFAULT: u64 = 1000;
/// The most replicas of a record that can be asked for.
const MOST_REPLICAS: u32 = 100;
/// The size of a value where the plan does not say, bytes.
const VALUE_DEFAULT: u64 = 100;

const NAMED: Parsed<Named> = Parsed::text("name", "a workload such as read-heavy", Named::parse);
const RECORDS_TAKEN: Parsed<u64> = Parsed {
    takes: "count",
    wanted: "a count such as 100k",
    form: Form::Count,
    parse: |text| match count(text)? {
        number if RECORDS.contains(&number) => Ok(number),
        _ => Err(ParseError::new("1 to 1000000000 records", text, 0, text.len())),
    },
    show: u64::to_string,
};
const REPLICAS: Small = Small(1..=MOST_REPLICAS);
const MIX: Parsed<Mix> = Parsed::text("shares", "shares such as read:95%,update:5%", Mix::parse);
const KEYS: Parsed<Keys> = Parsed::text("popularity", "a popularity such as zipf", Keys::parse);
const VALUE_SIZE: Parsed<Sizes> = Parsed {
    form: Form::TextOrNumber,
    ..Parsed::text("size", "a size such as 100B", |text| Sizes::parse(text, VALUE_BYTES))
};
const CONSISTENCY: Parsed<Consistency> =
    Parsed::text("level", "a level such as quorum", Consistency::parse);

/// What a store is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Store {
    /// The workload's name.
    pub named: Named,
    /// What it comes to, with what the plan changes of it.
    pub workload: Workload,
    /// How many replicas take part in an operation; `None` where the store has no such levels.
    pub consistency: Option<Consistency>,
    /// How many replicas a record has in a keyspace that is made for the data set, where the plan
    /// says so.
    pub replication: Option<u32>,
    /// Whether caches are emptied before a load, by the target's restart command and in the page
    /// cache of this machine.
    pub cold: bool,
}

impl Store {
    /// Reads the section for a target; `None` where that is no store.
    pub(crate) fn read(section: &Section<'_>, target: &Target) -> Option<Self> {
        if !target.is_store() {
            if let Some(key) = STORE.keys().find(|key| section.has(key.name)) {
                let message = format!("`{}` goes with a store, found an HTTP target", key.name);
                let hint = "set url = \"redis://127.0.0.1:6379\" in [target], or memcached://…";
                section.fault(key.name, message, Some(hint));
            }
            return None;
        }
        let named = section.get("workload", &NAMED).unwrap_or(Named::ReadHeavy);
        let size = section.get("value_size", &VALUE_SIZE);
        let workload = Workload {
            mix: section.get("mix", &MIX).unwrap_or(named.mix()),
            keys: section.get("keys", &KEYS).unwrap_or(named.keys()),
            records: section.get("records", &RECORDS_TAKEN).unwrap_or(RECORDS_DEFAULT),
            value_size: size.unwrap_or(Sizes::Fixed(VALUE_DEFAULT)),
        };
        let (consistency, replication) = replicas(section, target);
        let cold = cold(section, target);
        Some(Self { named, workload, consistency, replication, cold })
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(STORE.path);
        out.put("workload", &NAMED, &self.named);
        out.put("mix", &MIX, &self.workload.mix);
        out.put("keys", &KEYS, &self.workload.keys);
        out.put("records", &RECORDS_TAKEN, &self.workload.records);
        out.put("value_size", &VALUE_SIZE, &self.workload.value_size);
        self.consistency.iter().for_each(|level| out.put("consistency", &CONSISTENCY, level));
        self.replication.iter().for_each(|count| out.put("replication", &REPLICAS, count));
        if self.cold {
            out.put("cold", &Switch, &true);
        }
    }
}

/// What goes with a store of several nodes: the level of consistency, and the number of replicas.
fn replicas(section: &Section<'_>, target: &Target) -> (Option<Consistency>, Option<u32>) {
    let scheme = target.url.as_ref().map(|url| url.scheme);
    if scheme != Some(Scheme::Cassandra) {
        for key in ["consistency", "replication"].into_iter().filter(|key| section.has(key)) {
            let message = format!("`{key}` goes with Cassandra");
            section.fault(key, message, Some("set url = \"cassandra://…\" in [target]"));
        }
        return (None, None);
    }
    let level = section.get("consistency", &CONSISTENCY);
    (Some(level.unwrap_or_default()), section.get("replication", &REPLICAS))
}

/// Whether caches are to be emptied; a fault where there are none, or nothing that empties them.
fn cold(section: &Section<'_>, target: &Target) -> bool {
    let cold = section.get("cold", &Switch).unwrap_or(false);
    let scheme = target.url.as_ref().map(|url| url.scheme);
    if !cold {
        return false;
    }
    if let Some(Scheme::Redis | Scheme::Memcached) = scheme {
        let message = "`cold` goes with a database: this store reads nothing from disk";
        section.fault("cold", message, None);
    } else if target.restart.is_none() {
        let message = "`cold` needs the command that restarts the store, as that has a cache too";
        let hint = "set restart = \"systemctl restart mariadb\" in [target], or --restart-command";
        section.fault("cold", message, Some(hint));
    }
    true
}

/// What of `[target]` a store has no use for.
const OF_HTTP: [&str; 14] = [
    "urls",
    "replay",
    "order",
    "method",
    "headers",
    "body",
    "body_file",
    "bearer",
    "bearer_env",
    "host",
    "http",
    "insecure",
    "ca",
    "sni",
];

/// Notes what of `[target]` goes with HTTP only, and a path that names no database.
pub(crate) fn check_target(section: &Section<'_>, target: &Target) {
    let Some(url) = target.url.as_ref().filter(|url| url.scheme.is_store()) else { return };
    for key in OF_HTTP.into_iter().filter(|key| section.has(key)) {
        let message = format!("`{key}` goes with HTTP, not with {}://", url.scheme.name());
        section.fault_beside(key, "url", message, Some("what is asked stands in [store]"));
    }
    if let Err(error) = url.database() {
        let hint = error.hint.as_deref();
        section.fault("url", error.to_string(), hint);
    }
    if target.auth.is_some() && url.scheme.credentials_are_refused() {
        let hint = "leave the user and the password out: its text protocol has none";
        section.fault("url", "memcached takes no password", Some(hint));
    }
}
