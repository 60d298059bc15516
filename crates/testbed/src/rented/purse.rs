//! What instances have cost so far, and how many there are: a list of an experiment's own on disk,
//! which all its cells share, in this process and in others. An instance stands in it before it is
//! ordered.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use plimsoll_units::own::OwnFolder;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use crate::cloud::CloudError;
use crate::error::TestbedError;

/// No list is longer.
const MOST: u64 = 64 << 20;
/// What is rented is ended so long before the unit begins that would be too much, as instances take
/// a moment to end: seconds, where less than a minute is charged and where it is more.
const AHEAD_S: (u64, u64) = (2, 90);
/// Sums of prices differ from what they are by no more than this share of the budget.
const ROUNDING: f64 = 1e-9;

/// What a plan allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// How much may be spent.
    pub budget: f64,
    /// In which currency.
    pub currency: String,
    /// How many instances there may be at once, of all roles together.
    pub most: u32,
    /// The time that is charged: each begun one, seconds.
    pub unit_s: u64,
}

impl Terms {
    /// What an instance costs that is charged for so many seconds, at a price an hour.
    #[must_use]
    pub fn cost(&self, price: f64, seconds: u64) -> f64 {
        let unit_s = self.unit_s.max(1);
        price * (seconds.div_ceil(unit_s) * unit_s) as f64 / 3600.0
    }

    /// How long before a unit begins it is charged for, seconds.
    #[must_use]
    pub fn ahead_s(&self) -> u64 {
        if self.unit_s < 60 { AHEAD_S.0 } else { AHEAD_S.1 }
    }

    /// Whether an amount is more than may be spent.
    #[must_use]
    pub fn is_too_much(&self, amount: f64) -> bool {
        amount > self.budget * (1.0 + ROUNDING)
    }

    /// An amount, as it is shown.
    #[must_use]
    pub fn show(&self, amount: f64) -> String {
        format!("{amount:.2} {}", self.currency)
    }
}

/// A line of the list: what is begun, which id it got, and when it ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Line {
    token: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    bed: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from_s: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_s: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    seen: bool,
}

/// An instance in the list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    bed: String,
    name: String,
    /// Its id, when it is known.
    pub(crate) id: String,
    price: f64,
    /// When it was ordered, seconds since 1970.
    pub(crate) from_s: u64,
    to_s: Option<u64>,
    /// Whether its cloud has shown it, after it was ordered.
    pub(crate) seen: bool,
}

impl Entry {
    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.to_s.is_some()
    }
}

/// The list of an experiment, open and locked.
pub(crate) struct List {
    file: File,
    path: PathBuf,
    entries: BTreeMap<String, Entry>,
}

impl List {
    /// Opens the list, waits for whoever has it, and reads it.
    pub(crate) fn open(path: &Path) -> Result<Self, TestbedError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(TestbedError::file("open", path)(std::io::ErrorKind::InvalidInput.into()));
        };
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        let file = OwnFolder::make(folder)?.file(name, flags)?;
        let locked = flock(&file, FlockOperation::LockExclusive);
        locked.map_err(|error| TestbedError::file("lock", path)(error.into()))?;
        let mut text = String::new();
        let read = (&file).take(MOST).read_to_string(&mut text);
        read.map_err(TestbedError::file("read", path))?;
        let mut list = Self { file, path: path.to_owned(), entries: BTreeMap::new() };
        // A line that was cut is of what was never ordered.
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            list.take(line);
        }
        Ok(list)
    }

    fn take(&mut self, line: Line) {
        let entry = self.entries.entry(line.token).or_default();
        if let Some(from_s) = line.from_s {
            let (bed, name, price) = (line.bed, line.name, line.price.unwrap_or(0.0));
            *entry = Entry { bed, name, price, from_s, ..Entry::default() };
        }
        if !line.id.is_empty() {
            entry.id = line.id;
        }
        entry.to_s = line.to_s.or(entry.to_s);
        entry.seen |= line.seen;
    }

    /// Adds a line, which is on the disk when this returns.
    fn add(&mut self, line: Line) -> Result<(), TestbedError> {
        let text = serde_json::to_string(&line).map_err(std::io::Error::other);
        let written = text.and_then(|text| {
            // What was cut before is not gone on with.
            self.file.write_all(format!("\n{text}\n").as_bytes())?;
            self.file.sync_all()
        });
        written.map_err(TestbedError::file("write", &self.path))?;
        self.take(line);
        Ok(())
    }

    /// The instance of a token.
    pub(crate) fn get(&self, token: &str) -> Option<&Entry> {
        self.entries.get(token)
    }

    /// Notes the id of an instance.
    pub(crate) fn has_id(&mut self, token: &str, id: &str) -> Result<(), TestbedError> {
        self.add(Line { token: token.to_owned(), id: id.to_owned(), ..Line::default() })
    }

    /// Notes that the cloud has shown an instance, of this id.
    pub(crate) fn is_seen(&mut self, token: &str, id: &str) -> Result<(), TestbedError> {
        let (token, id) = (token.to_owned(), id.to_owned());
        self.add(Line { token, id, seen: true, ..Line::default() })
    }

    /// Notes the end of an instance, nanoseconds since 1970; of one that was never started, that it
    /// was not.
    pub(crate) fn ends(&mut self, token: &str, at_ns: Option<u64>) -> Result<(), TestbedError> {
        let Some(entry) = self.entries.get(token).filter(|entry| !entry.is_over()) else {
            return Ok(());
        };
        // The second in which it ends is charged for, were it that in which it began.
        let ended_s = |at_ns: u64| at_ns.div_ceil(1_000_000_000).max(entry.from_s + 1);
        let to_s = Some(at_ns.map_or(entry.from_s, ended_s));
        self.add(Line { token: token.to_owned(), to_s, ..Line::default() })
    }

    /// What all has cost, up to a moment.
    fn spent(&self, terms: &Terms, now_s: u64) -> f64 {
        let cost = |of: &Entry| {
            // One that goes on is charged for what it has begun.
            let until_s = of.to_s.unwrap_or_else(|| now_s.max(of.from_s + 1));
            terms.cost(of.price, until_s.saturating_sub(of.from_s))
        };
        self.entries.values().map(cost).sum()
    }
}

/// The purse of an experiment.
pub(crate) struct Purse {
    path: PathBuf,
    terms: Terms,
    now_ns: fn() -> u64,
}

impl Purse {
    /// The purse whose list lies there. Instances of beds that have no ledger any more were never
    /// ordered: who was about to do it was killed before.
    pub(crate) fn open(
        (path, ledgers): (&Path, &Path),
        terms: Terms,
        now_ns: fn() -> u64,
    ) -> Result<Self, TestbedError> {
        let purse = Self { path: path.to_owned(), terms, now_ns };
        let mut list = purse.list()?;
        let is_lost = |of: &Entry| !of.is_over() && !ledgers.join(&of.bed).exists();
        let lost = list.entries.iter().filter(|(_, of)| is_lost(of));
        let lost: Vec<String> = lost.map(|(token, _)| token.clone()).collect();
        lost.iter().try_for_each(|token| list.ends(token, None))?;
        Ok(purse)
    }

    pub(crate) fn list(&self) -> Result<List, TestbedError> {
        List::open(&self.path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn now_s(&self) -> u64 {
        (self.now_ns)() / 1_000_000_000
    }

    /// Takes an instance into the list that is about to be ordered. Returns its token.
    ///
    /// # Errors
    /// One more than the plan allows; more than its budget, with the units that begin soon.
    pub(crate) fn begins(&self, bed: &str, name: &str, price: f64) -> Result<String, TestbedError> {
        let (mut list, now_s, terms) = (self.list()?, self.now_s(), &self.terms);
        let there = list.entries.values().filter(|of| !of.is_over()).count();
        if there >= terms.most as usize {
            return Err(CloudError::Money(format!(
                "rent {name}: there are {there} instances, and `max` in [testbed] is {}",
                terms.most
            ))
            .into());
        }
        // What would have the run end at once is not begun.
        let (ahead_s, spent) = (terms.ahead_s(), list.spent(terms, now_s));
        let (soon, next) = (list.spent(terms, now_s + ahead_s), terms.cost(price, ahead_s));
        if terms.is_too_much(soon + next) {
            let shown = [next, spent, terms.budget, soon].map(|of| terms.show(of));
            let [next, spent, budget, soon] = shown;
            return Err(CloudError::Budget(format!(
                "rent {name} for {next}: {spent} of the budget of {budget} are spent, and {soon} \
                 are in {ahead_s} s"
            ))
            .into());
        }
        let is_its = |of: &&Entry| of.bed == bed && of.name == name;
        let attempt = list.entries.values().filter(is_its).count() + 1;
        let token = format!("plimsoll-{bed}-{name}-{attempt}");
        let (bed, name) = (bed.to_owned(), name.to_owned());
        let (price, from_s) = (Some(price), Some(now_s));
        list.add(Line { token: token.clone(), bed, name, price, from_s, ..Line::default() })?;
        Ok(token)
    }

    /// What to tell where the budget is exceeded, or will be by the units that begin soon.
    pub(crate) fn is_reached(&self) -> Result<Option<String>, TestbedError> {
        let (list, now_s, ahead_s) = (self.list()?, self.now_s(), self.terms.ahead_s());
        let soon = list.spent(&self.terms, now_s + ahead_s);
        Ok(self.terms.is_too_much(soon).then(|| {
            format!(
                "its budget of {} is reached: {} are spent on instances, and {} are in {ahead_s} s",
                self.terms.show(self.terms.budget),
                self.terms.show(list.spent(&self.terms, now_s)),
                self.terms.show(soon)
            )
        }))
    }
}

#[cfg(test)]
mod tests;
