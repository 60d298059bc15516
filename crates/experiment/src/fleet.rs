//! What a worker makes of its job: the plan that it is told, made ready on this host.

use std::net::IpAddr;

use plimsoll_fleet::message::Job;
use plimsoll_fleet::worker::{Made, Refusal};
use plimsoll_load::Pacing;
use plimsoll_plan::Written;

use crate::error::ExperimentError;
use crate::plans;
use crate::prepare::division::{asked, is_never_asked, protocol_of};
use crate::prepare::{Place, prepare};

/// Makes ready what a worker is told to do.
///
/// # Errors
/// What cannot be done here, or may not.
pub fn made(job: &Job, place: &Place<'_>) -> Result<Made, Refusal> {
    let refused = |error: &ExperimentError| Refusal::of(error);
    let written = Written::text(&job.plan, "the plan of the controller", &[]);
    let plan = plans::read(&written.within(place.environment));
    let plan = plan.map_err(|error| refused(&error.into()))?;
    let prepared = prepare(&plan, place, true).map_err(|error| refused(&error))?;
    let mut config = prepared.config;
    let refuse = |why: String| Err(Refusal { why, hint: None, is_usage: false });
    let may_ask = |address: &IpAddr| job.may_ask.contains(address) && !is_never_asked(address);
    if let Some(address) = asked(&config).into_iter().find(|address| !may_ask(address)) {
        return refuse(format!("it may not ask {address}"));
    }
    let protocol = protocol_of(&config);
    if protocol != job.protocol {
        let wanted = &job.protocol;
        return refuse(format!("the target speaks {protocol} with it, and {wanted} with others"));
    }
    config.part = job.part.into();
    config.threads = job.threads;
    config.pacing = if job.is_precise { Pacing::Precise } else { Pacing::Thrifty };
    Ok(Made { config, offer: prepared.offer })
}
