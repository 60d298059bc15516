//! Undoes what a bed has on other hosts, by its ledger alone: each host is reached once, and one
//! that is away is said by name, and stays in the ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::TestbedError;
use crate::route::Route;
use crate::ssh::client::Client;
use crate::ssh::hosts::{OfBed, Reached};
use crate::ssh::session::Hears;
use crate::ssh::wire::Ask;
use crate::thing::{Thing, remove};
use crate::time::Deadline;

/// How long a host may take until it can be asked: this program may have to be copied.
const REACHES: Duration = Duration::from_secs(300);

/// Who removes what a ledger has, here and on other hosts.
pub(crate) struct Remover<'a> {
    bed: &'a str,
    client: &'a Client,
    sockets: PathBuf,
    /// The hosts of the ledger, by name.
    hosts: BTreeMap<String, (Route, PathBuf)>,
    /// Those that the ledger has something of, beside their folder.
    used: BTreeSet<String>,
    /// Those that were tried: one that is away has none.
    reached: BTreeMap<String, Option<Reached>>,
}

/// Nothing is made while things are removed.
struct Nothing;

impl Hears for Nothing {
    fn will_make(&self, thing: &Thing) -> Result<u64, TestbedError> {
        Err(TestbedError::Wrong(format!("make {thing:?} while a bed is taken down")))
    }

    fn is_gone(&self, _: u64) -> Result<(), TestbedError> {
        Ok(())
    }

    fn output(&self, _: &str, _: &str) {}
}

impl<'a> Remover<'a> {
    pub(crate) fn new<'t>(
        bed: &'a str,
        client: &'a Client,
        sockets: &Path,
        things: impl Iterator<Item = &'t Thing>,
    ) -> Self {
        let host = |thing: &Thing| match thing {
            Thing::Host { route, folder } => {
                Some((route.name.clone(), (route.clone(), folder.clone())))
            }
            _ => None,
        };
        let (mut hosts, mut used) = (BTreeMap::new(), BTreeSet::new());
        for thing in things {
            hosts.extend(host(thing));
            if let Thing::On { host, .. } = thing {
                used.insert(host.clone());
            }
        }
        let sockets = sockets.to_owned();
        Self { bed, client, sockets, hosts, used, reached: BTreeMap::new() }
    }

    /// Removes a thing where it is there and proved the bed's. Returns whether it was.
    ///
    /// # Errors
    /// Where it could not be removed; a host that is away, the first time it is needed and each
    /// time after.
    pub(crate) fn remove(&mut self, thing: &Thing) -> Result<bool, TestbedError> {
        match thing {
            Thing::On { host, thing } => self.host(host)?.remove(thing, &Nothing),
            Thing::Host { route, folder } => {
                let bed = self.bed;
                let (of, is_used) = (OfBed { bed, route, folder }, self.used.contains(&route.name));
                // One that was refused, or whose folder could not be made, has nothing.
                if !is_used && Reached::is_absent(self.client, &self.sockets, of)? {
                    return Ok(false);
                }
                self.host(&route.name)?.clear(OfBed { bed, route, folder }).map(|()| true)
            }
            _ => remove(self.bed, thing),
        }
    }

    /// Whether a process lives, wherever it is.
    ///
    /// # Errors
    /// A host that is away.
    pub(crate) fn lives(&mut self, thing: &Thing) -> Result<bool, TestbedError> {
        match thing {
            Thing::On { host, thing } => self.host(host)?.lives(thing, &Nothing),
            _ => Ok(thing.lives()),
        }
    }

    fn host(&mut self, name: &str) -> Result<&Reached, TestbedError> {
        let away = |why: &str| TestbedError::Away { host: name.to_owned(), why: why.to_owned() };
        if !self.reached.contains_key(name) {
            let Some((route, folder)) = self.hosts.get(name) else {
                return Err(away("the ledger does not say how"));
            };
            let of = OfBed { bed: self.bed, route, folder };
            let deadline = Deadline::within(REACHES);
            let (bed, rows) = (self.bed.to_owned(), Vec::new());
            let begin = Ask::Begin { bed, rows, most_output: 0, replaces: false };
            let is_known: &dyn Fn() -> Result<(), TestbedError> = &|| Ok(());
            let found =
                Reached::begin(self.client, &self.sockets, of, (&begin, is_known), &deadline);
            match found {
                Ok(found) => drop(self.reached.insert(name.to_owned(), Some(found))),
                Err(error) => {
                    self.reached.insert(name.to_owned(), None);
                    return Err(error);
                }
            }
        }
        let found = self.reached.get(name).and_then(Option::as_ref);
        found.ok_or_else(|| away("it was away a moment ago"))
    }
}
