//! The end of rented instances: of those in a ledger, found by the list, by their token and by
//! their tags; and of strays that stand in no ledger any more.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_units::failure::chain;

use super::purse::List;
use super::{BED_TAG, NAME_TAG, TOKEN};
use crate::cloud::{Cloud, CloudError, Filter, Rented, Surroundings, Where, is_plain};
use crate::error::TestbedError;
use crate::thing::Thing;

/// How often a cloud is asked for an instance that may have been ordered a moment ago.
const LOOKS: u32 = 3;

/// Ends the instance that a thing is, wherever it is known from. Returns whether there was one.
pub(crate) fn end(
    bed: &str,
    thing: &Thing,
    cloud: &Cloud,
    now_ns: fn() -> u64,
) -> Result<bool, TestbedError> {
    let Thing::Rented { instance, token, list, .. } = thing else { return Ok(false) };
    let known = {
        let list = List::open(list)?;
        let entry = list.get(token);
        if entry.is_some_and(super::purse::Entry::is_over) {
            return Ok(false);
        }
        entry.map(|of| of.id.clone()).filter(|id| !id.is_empty())
    };
    let ids: BTreeSet<String> = match known {
        Some(id) => [id].into(),
        None => found(bed, instance, token, cloud)?,
    };
    for id in &ids {
        cloud.terminate(id)?;
    }
    List::open(list)?.ends(token, Some(now_ns()))?;
    Ok(!ids.is_empty())
}

/// The ids of instances with a token, or with the tags of an instance of a bed.
fn found(
    bed: &str,
    instance: &str,
    token: &str,
    cloud: &Cloud,
) -> Result<BTreeSet<String>, CloudError> {
    for look in 0..LOOKS {
        if look > 0 {
            cloud.wait(std::time::Duration::from_secs(1));
        }
        let mut all = cloud.of_token(token)?;
        if cloud.at().has_tags() {
            let tags = [Filter::tag(BED_TAG, bed), Filter::tag(NAME_TAG, instance)];
            all.extend(cloud.describe(&tags)?);
        }
        // One that was started by another order of that name is not this one.
        all.retain(|of| of.costs() && (of.token.is_empty() || of.token == token));
        if !all.is_empty() {
            return Ok(all.into_iter().map(|of| of.id).collect());
        }
    }
    Ok(BTreeSet::new())
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
                let why = chain(&error);
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
