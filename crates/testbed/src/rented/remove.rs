//! The end of rented instances: of those in a ledger, found by the list, by their token and by
//! their tags; and of strays that stand in no ledger any more.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use plimsoll_units::failure::told;

use super::purse::List;
use super::{BED_TAG, NAME_TAG, TOKEN};
use crate::cloud::{Account, Cloud, CloudError, Filter, Rented, Surroundings, Where, is_plain};
use crate::error::TestbedError;
use crate::thing::Thing;
use crate::time::Deadline;

/// How long after its order a cloud may not know yet what it has started.
const VISIBLE: Duration = Duration::from_secs(300);
/// The first pause between two looks, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// What is to be ended, and who asks.
struct Ends<'a> {
    bed: &'a str,
    instance: &'a str,
    token: &'a str,
    cloud: &'a Cloud,
    /// Whose it is, and whose the credentials at hand are.
    of: Option<&'a Account>,
    here: Account,
    /// How long its cloud may not know it yet.
    young: Deadline,
}

/// Ends the instance that a thing is, wherever it is known from. Returns whether there was one. One
/// that the cloud does not know is gone only where the same account has seen it before; it is asked
/// for again as long as its cloud may not know it yet.
///
/// # Errors
/// One of another account, or one that may run all the same; where the cloud does not answer.
pub(crate) fn end(
    bed: &str,
    thing: &Thing,
    cloud: &Cloud,
    now_ns: fn() -> u64,
) -> Result<bool, TestbedError> {
    let Thing::Rented { instance, token, list, account, .. } = thing else { return Ok(false) };
    let entry = List::open(list)?.get(token).cloned();
    if entry.as_ref().is_some_and(super::purse::Entry::is_over) {
        return Ok(false);
    }
    let id = entry.as_ref().map(|of| of.id.clone()).filter(|id| !id.is_empty());
    let (here, _) = cloud.account()?;
    if let Some(of) = account.as_deref().filter(|of| of.is_surely_not(&here)) {
        let what = id.unwrap_or_else(|| format!("what has the token {token}"));
        return Err(CloudError::OtherAccount { what, of: of.clone(), here }.into());
    }
    let from_s = entry.as_ref().map_or(u64::MAX, |of| of.from_s);
    let age = Duration::from_secs((now_ns() / 1_000_000_000).saturating_sub(from_s));
    let (of, young) = (account.as_deref(), cloud.within(VISIBLE.saturating_sub(age)));
    let ends = Ends { bed, instance, token, cloud, of, here, young };
    let is_seen = entry.is_some_and(|of| of.seen);
    let was_there = match &id {
        Some(id) => ends.by_id(id, is_seen)?,
        None => ends.by_token()?,
    };
    List::open(list)?.ends(token, Some(now_ns()))?;
    Ok(was_there)
}

impl Ends<'_> {
    /// Whether the account that rented it asks.
    fn is_same(&self) -> bool {
        self.of == Some(&self.here)
    }

    fn not_known(&self, what: String) -> TestbedError {
        let (at, of) = (self.cloud.at().to_string(), self.of.cloned());
        CloudError::NotKnown { what, at, of, here: self.here.clone() }.into()
    }

    /// Ends one whose id is known. Returns whether it was there.
    fn by_id(&self, id: &str, is_seen: bool) -> Result<bool, TestbedError> {
        let mut pause = PAUSES.0;
        loop {
            // What was asked before this host stood still says nothing of now.
            let is_last = self.young.is_over() || !self.is_same();
            match self.cloud.terminate(id) {
                Ok(_) => return Ok(true),
                Err(error) if error.is_unknown() => {}
                Err(error) => return Err(error.into()),
            }
            if is_seen && self.is_same() {
                return Ok(false);
            }
            if is_last {
                return Err(self.not_known(id.to_owned()));
            }
            self.cloud.wait(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Ends one of which the cloud has not told the id, or nothing at all. Returns whether it was
    /// there.
    fn by_token(&self) -> Result<bool, TestbedError> {
        let mut pause = PAUSES.0;
        loop {
            let is_last = self.young.is_over() || !self.is_same();
            let all = self.found()?;
            let ids: BTreeSet<&String> =
                all.iter().filter(|of| of.costs()).map(|of| &of.id).collect();
            ids.iter().try_for_each(|id| self.cloud.terminate(id).map(drop))?;
            if !all.is_empty() {
                return Ok(!ids.is_empty());
            }
            match (is_last, self.is_same()) {
                (false, _) => {}
                // So long after its order it would be known: it was never started.
                (true, true) => return Ok(false),
                (true, false) => {
                    return Err(self.not_known(format!("what has the token {}", self.token)));
                }
            }
            self.cloud.wait(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// The instances with the token, or with the tags of the instance of the bed.
    fn found(&self) -> Result<Vec<Rented>, CloudError> {
        let mut all = self.cloud.of_token(self.token)?;
        if self.cloud.at().has_tags() {
            let tags = [Filter::tag(BED_TAG, self.bed), Filter::tag(NAME_TAG, self.instance)];
            all.extend(self.cloud.describe(&tags)?);
        }
        // One that was started by another order of that name is not this one.
        all.retain(|of| of.token == self.token || (of.token.is_empty() && of.costs()));
        Ok(all)
    }
}

/// Ends the rented things of a ledger. Returns those that were there, and of each that could not be
/// reached, why.
#[must_use]
pub fn take_down(
    bed: &str,
    things: &[Thing],
    surroundings: Surroundings,
) -> (Vec<Thing>, Vec<String>) {
    let (mut ended, mut failed) = (Vec::new(), Vec::new());
    for thing in things {
        let Thing::Rented { instance, token, cloud: at, .. } = thing else { continue };
        let end = || {
            let cloud = Cloud::new(at.clone(), surroundings)?;
            end(bed, thing, &cloud, surroundings.now_ns)
        };
        match end() {
            Ok(true) => ended.push(thing.clone()),
            Ok(false) => {}
            Err(error) => {
                let why = told(&error);
                failed.push(format!("{instance} (token {token}, in {at}): {why}"));
            }
        }
    }
    (ended, failed)
}

/// An instance of ours that stands in no ledger of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// The instance.
    pub rented: Rented,
    /// The bed that its tag or its token names.
    pub bed: String,
}

/// The instances at a cloud that have our tag or a token of ours, and that stand in none of the
/// ledgers below some folders. They may be another machine's.
///
/// # Errors
/// Where the cloud cannot be asked.
pub fn strays(
    at: &Where,
    ledgers: &[&Path],
    surroundings: Surroundings,
) -> Result<Vec<Stray>, CloudError> {
    let cloud = Cloud::new(at.clone(), surroundings)?;
    let all = cloud.describe(&[])?;
    let bed_of = |of: &Rented| {
        let of_token = of.token.strip_prefix(TOKEN).and_then(|rest| rest.split('-').next());
        of.tags.get(BED_TAG).map(String::as_str).or(of_token).map(str::to_owned)
    };
    let stray = |rented: Rented| {
        let bed = bed_of(&rented)?;
        let is_known = is_plain(&bed) && ledgers.iter().any(|of| of.join(&bed).exists());
        (rented.costs() && !is_known).then_some(Stray { rented, bed })
    };
    Ok(all.into_iter().filter_map(stray).collect())
}

#[cfg(test)]
mod tests;
