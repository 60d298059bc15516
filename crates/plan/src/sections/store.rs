//! `[store]`: what a store is asked for, where the target's URL is that of one: `redis://`,
//! `memcached://`, `mysql://`, `postgres://` or `cassandra://`.

use plimsoll_units::{ParseError, count};
use plimsoll_workload::size::Sizes;
use plimsoll_workload::store::{Consistency, Keys, Mix, Named, RECORDS, VALUE_BYTES, Workload};

use crate::flag::Group;
use crate::section::Section;
use crate::sections::target::Target;
use crate::takes::{Count, Form, Parsed, Switch};
use crate::write::Writer;

section! {
    /// What a store is asked for.
    ["store"]
    pub struct Store {
        /// A named workload: write-only, read-only, read-heavy, balanced or read-latest.
        named: Named ["workload"] { NAMED, or Named::ReadHeavy, "balanced" }
            flag [Group::Store.flag("workload", "NAME")]
        /// The shares of reads, updates and insertions.
        mix: Mix { MIX, or named.mix(), said "the workload's", "read:80%,update:20%" }
        /// How popular each record is: zipf, zipf-plain, uniform, latest, hotset.
        keys: Keys { KEYS, or named.keys(), said "the workload's", "hotset:20%,80%" }
            flag [Group::Store.flag("keys", "HOW").says("How popular records are: zipf, \
                zipf-plain, uniform, latest, hotset:20%,80%")]
        /// How many records the data set has.
        records: u64 { RECORDS_TAKEN, or 1000, "100k" }
            flag [Group::Store.flag("records", "N")]
        /// How large a value is: a size, or a distribution of sizes.
        value_size: Sizes { VALUE_SIZE, or Sizes::Fixed(100), "uniform:100B..9KiB" }
            flag [Group::Store.flag("value-size", "SIZE")
                .says("Size of a value: 100B, or a distribution such as uniform:100B..9KiB")]
        /// How many replicas of Cassandra take part in an operation.
        consistency: Option<Consistency> { CONSISTENCY, said "one", "quorum" }
            flag [Group::Store.flag("consistency", "LEVEL").says("Replicas of Cassandra that \
                take part: one, quorum, all, local_quorum, …")]
        /// How many replicas a record has in a keyspace that `plimsoll prepare` makes.
        replication: Option<u32> { Count(1..=100_u32), said "1", "3" }
        /// Begins with empty caches: restarts the store, and drops this machine's page cache.
        cold: bool { Switch, or false, "true" }
            flag [Group::Cold.switch("cold")
                .says("Begin with empty caches: a database is restarted, the page cache dropped")]
    }
}

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
const MIX: Parsed<Mix> = Parsed::text("shares", "shares such as read:95%,update:5%", Mix::parse);
const KEYS: Parsed<Keys> = Parsed::text("popularity", "a popularity such as zipf", Keys::parse);
const VALUE_SIZE: Parsed<Sizes> = Parsed {
    form: Form::TextOrNumber,
    ..Parsed::text("size", "a size such as 100B", |text| Sizes::parse(text, VALUE_BYTES))
};
const CONSISTENCY: Parsed<Consistency> =
    Parsed::text("level", "a level such as quorum", Consistency::parse);

impl Store {
    /// Reads the section for a target; `None` where that is no store.
    pub(crate) fn read(section: &Section<'_>, target: &Target) -> Option<Self> {
        if !target.is_store() {
            if let Some(key) = Self::SECTION.keys().find(|key| section.has(key.name)) {
                let message = format!("`{}` goes with a store, found an HTTP target", key.name);
                let hint = "set url = \"redis://127.0.0.1:6379\" in [target], or memcached://…";
                section.fault(key.name, message, Some(hint));
            }
            return None;
        }
        let mut store = Self::read_keys(section)?;
        store.check_replicas(section, target);
        if store.cold {
            check_cold(section, target);
        }
        Some(store)
    }

    /// What it comes to: the named workload, with what the plan changes of it.
    #[must_use]
    pub fn workload(&self) -> Workload {
        let Self { mix, keys, records, value_size, .. } = *self;
        Workload { mix, keys, records, value_size }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        let left_out: &[&str] = if self.cold { &[] } else { &["cold"] };
        out.section(Self::SECTION.path);
        self.write_keys(out, left_out);
    }

    /// What goes with a store of several nodes: the level of consistency, and how many replicas.
    fn check_replicas(&mut self, section: &Section<'_>, target: &Target) {
        if target.store_scheme().is_some_and(|of| of.has_replicas) {
            self.consistency.get_or_insert_default();
            return;
        }
        for key in ["consistency", "replication"].into_iter().filter(|key| section.has(key)) {
            let message = format!("`{key}` goes with Cassandra");
            section.fault(key, message, Some("set url = \"cassandra://…\" in [target]"));
        }
    }
}

/// Notes that there are no caches to be emptied, or nothing that empties them.
fn check_cold(section: &Section<'_>, target: &Target) {
    if target.store_scheme().is_some_and(|of| !of.has_disk) {
        let message = "`cold` goes with a database: this store reads nothing from disk";
        section.fault("cold", message, None);
    } else if target.restart.is_none() {
        let message = "`cold` needs the command that restarts the store, as that has a cache too";
        let hint = "set restart = \"systemctl restart mariadb\" in [target], or --restart-command";
        section.fault("cold", message, Some(hint));
    }
}
