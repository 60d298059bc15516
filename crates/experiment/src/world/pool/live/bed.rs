//! The bed of a live pool: the servers of the plan, and the balancer.

use std::path::Path;

use plimsoll_elastic::simulated::Setup;
use plimsoll_plan::{Balancer, Plan, Provider};
use plimsoll_testbed::Bed;
use plimsoll_testbed::balancers::{ROLE, Settings};
use plimsoll_testbed::ledger::Serves;

use super::{OfCell, cloud_poller};
use crate::control::{Control, News};
use crate::error::ExperimentError;
use crate::prepare::Place;
use crate::servers::{EXAMPLE, bed_id, bed_with, left_of, owner, undo_left};
use crate::world::pool::model::Model;

/// The bed of a pool with one instance of the role that is scaled, as `check` shows it; with none,
/// where somebody else starts them.
///
/// # Errors
/// What keeps it from standing.
pub fn check(plan: &Plan, model: &Model, place: &Place<'_>) -> Result<Bed, ExperimentError> {
    let (mut bed, role, _) = bed_of(plan, model, (EXAMPLE.to_owned(), Vec::new()), place)?;
    let count = u32::from(!plan.is_followed(&role));
    bed.roles.iter_mut().filter(|of| of.name == role).for_each(|of| of.count = count);
    cloud_poller::members(plan, place)?;
    Ok(bed)
}

/// Whether all instances of a bed stand already whose number is known; of several balancers one is
/// enough.
fn stands(bed: &Bed) -> bool {
    let stands =
        |role: &str, number: u32| bed.left.iter().any(|of| of.name == format!("{role}-{number}"));
    bed.roles.iter().all(|role| {
        let mut numbers = 1..=role.count;
        match role.name == ROLE {
            true => numbers.any(|number| stands(&role.name, number)),
            false => numbers.all(|number| stands(&role.name, number)),
        }
    })
}

/// The bed of a plan: its servers but those that come and go, and the balancer.
fn bed_of(
    plan: &Plan,
    model: &Model,
    (id, left): (String, Vec<Serves>),
    place: &Place<'_>,
) -> Result<(Bed, String, Settings), ExperimentError> {
    let conflict = |text: String| ExperimentError::Conflict(text);
    let found = plan.elastic.as_ref().and_then(|of| Some((of, of.pool.role.clone()?)));
    let (elastic, role) = found.ok_or_else(|| {
        conflict("run a pool live: `role` in [pool] says which role is scaled".to_owned())
    })?;
    let is_on_hosts = plan.testbed.as_ref().is_some_and(|of| of.provider == Provider::Ssh);
    if is_on_hosts && plan.experiment.as_ref().is_some_and(|of| of.at_once > 1) {
        return Err(conflict(
            "run several pools at once on the same hosts, where they would want the same ports: \
             leave `at_once` out"
                .to_owned(),
        ));
    }
    let mut bed = bed_with(plan, id, left, place)?.ok_or_else(|| {
        conflict("run a pool live: the plan has no [testbed] that starts its servers".to_owned())
    })?;
    let scaled = bed.roles.iter_mut().find(|of| of.name == role).ok_or_else(|| {
        conflict(format!("scale the role `{role}`: the plan has no [role.{role}]"))
    })?;
    scaled.count = 0;
    // An instance is well as long as it answers what showed that it was ready.
    let check = scaled.recipe.recipe.check.http.clone();
    let settings = settings(&elastic.balancer, &model.setup, check);
    settings.check(&*bed.provider)?;
    bed.roles.push(settings.role()?);
    Ok((bed, role, settings))
}

/// The bed of a cell of the experiment at a path: that which a killed process has left of it, where
/// all servers but those that come and go still serve; else a new one. Returns it with the name of
/// the role that is scaled.
///
/// # Errors
/// What keeps it from standing; what is left and cannot be undone.
pub(super) fn of_cell(
    (path, cell): (&Path, u32),
    of: OfCell<'_>,
    place: &Place<'_>,
    control: &dyn Control,
) -> Result<(Bed, String, Settings), ExperimentError> {
    let owner = owner(path, cell, place);
    for left in left_of(path, place, false)? {
        if left.of.as_ref() != Some(&owner) {
            continue;
        }
        let (id, serving) = (left.bed.clone(), left.serving.clone());
        let adopted = bed_of(of.plan, of.model, (id, serving), place);
        if let Ok((bed, role, settings)) = adopted
            && stands(&bed)
        {
            let count =
                bed.left.iter().filter(|of| of.name.starts_with(&format!("{role}-"))).count();
            let text = format!(
                "adopts what a killed process has left of it: {}, with {count} instances",
                left.bed
            );
            control.tell(News::Says(&text));
            return Ok((bed, role, settings));
        }
        undo_left(&left, place, control)?;
    }
    let id = bed_id(path, cell, (place.now_ns)());
    bed_of(of.plan, of.model, (id, Vec::new()), place)
}

/// What the plan wants of the pool's balancer; `check` is what an instance answers that is well.
fn settings(of: &Balancer, setup: &Setup, check: Option<String>) -> Settings {
    Settings {
        kind: of.kind,
        rule: of.rule,
        limit: setup.rules.limit,
        queue: of.queue,
        queue_timeout: of.queue_timeout,
        count: of.count,
        check,
    }
}
