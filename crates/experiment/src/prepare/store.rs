//! Stores: which of them speaks, how a connection begins, what is asked for.

use super::Place;
use super::requests::credentials;
use crate::error::ExperimentError;
use plimsoll_load::store::{Before, Login, Replicas, Store};
use plimsoll_load::{Config, Protocol};
use plimsoll_plan::Plan;
use plimsoll_runs::summary::StoreWorkload;
use plimsoll_units::show_count;
use plimsoll_workload::request::Url;
use plimsoll_workload::store::{Operations, Wanted};
use std::sync::Arc;
use std::time::Duration;

/// What the plan asks of a store; `None` where its target is none.
pub(super) fn read(
    plan: &Plan,
    url: &Url,
    place: &Place<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<Store>, ExperimentError> {
    let (Some(store), Some(of)) = (&plan.store, &url.scheme.store) else { return Ok(None) };
    if of.leaves_lying && plan.load.streams > 1 {
        notes.push(format!(
            "{}:// servers may leave commands lying that are sent behind others: `streams = 1` \
             has none time out",
            url.scheme.name
        ));
    }
    if let Some(feature) = Protocol::of(url.scheme).and_then(Protocol::left_out) {
        return Err(ExperimentError::Conflict(format!(
            "drive {url}: this program was built without its driver; build it with the feature \
             `{feature}`"
        )));
    }
    let credentials = credentials(plan.target.auth.as_ref(), place)?.map(|credentials| {
        let (user, password) = match credentials.bare() {
            Some(password) if of.takes_bare_password => (&[][..], password),
            _ => credentials.reveal(),
        };
        (user.to_vec(), password.to_vec())
    });
    if of.needs_user && credentials.as_ref().is_none_or(|(user, _)| user.is_empty()) {
        let scheme = url.scheme.name;
        return Err(ExperimentError::Conflict(format!(
            "log in to {url}: no user is named; write {scheme}://USER@…, or name a variable that \
             holds USER:PASSWORD by `target.basic_env`"
        )));
    }
    let database = url.database().map_err(|error| ExperimentError::Conflict(error.to_string()))?;
    let operations = Operations::new(&store.workload(), plan.seed, Wanted::Mixed);
    let login = Login { credentials, database };
    let replicas = Replicas {
        consistency: store.consistency.unwrap_or_default(),
        replication: store.replication.unwrap_or(1),
    };
    Ok(Some(Store { operations: Arc::new(operations), login, replicas }))
}

/// Asks the store for the last record of the data set; a database is told to make its table before
/// a data set is written.
pub(crate) fn ask(
    plan: &Plan,
    config: &Config,
    before: Before,
    notes: &mut Vec<String>,
) -> Result<(), ExperimentError> {
    let (Some(asked), Some(store)) = (&plan.store, &config.store) else { return Ok(()) };
    let patience = Duration::from_nanos(config.timeout_ns);
    let is_there = plimsoll_load::ask::check(config, store, before, patience)?;
    if !is_there && asked.mix.read() > 0 {
        notes.push(format!(
            "the last of {} records is not in the store: load the data set by `plimsoll prepare`, \
             or count misses",
            show_count(asked.records)
        ));
    }
    Ok(())
}

/// What the summary says of the workload.
pub(super) fn described(plan: &Plan) -> Option<StoreWorkload> {
    let store = plan.store.as_ref()?;
    Some(StoreWorkload {
        name: store.named.to_string(),
        mix: store.mix.to_string(),
        keys: store.keys.to_string(),
        records: store.records,
        value_size: store.value_size.to_string(),
        consistency: store.consistency.map(|level| level.to_string()),
        caches: if store.cold { "cold" } else { "warm" }.to_owned(),
    })
}
