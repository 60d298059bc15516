//! What instances that are rented from a cloud may cost: how many there are and for how long at
//! most, and the watch over them while a cell goes on.

mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_plan::{Plan, Provider as Kind, Testbed};
use plimsoll_testbed::cloud::{Surroundings, Where};
use plimsoll_testbed::ec2::{Ec2, Wants};
use plimsoll_testbed::image::AtCloud;
use plimsoll_testbed::rented::{Terms, lasting};
use plimsoll_units::failure::FileError;
use plimsoll_workload::pool::BillingUnit;

use crate::error::ExperimentError;
use crate::image_folder::images;
use crate::prepare::Place;
pub(crate) use watch::watched;

/// The variables that name a region, where the plan does not.
const REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];
/// How long instances are planned to be there beside the load of a cell: they start, and they end.
const BESIDE: Duration = Duration::from_secs(120);

/// The most that a plan can cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// How many instances there are at once, at most.
    pub instances: u32,
    /// What all of them cost in all cells; `None` where that is not known, as it is not known how
    /// long these take, or how often a pool orders: then the budget is the bound.
    pub most: Option<f64>,
    /// Whether a policy orders instances: each order begins a unit, however many there are at once.
    pub scales: bool,
    /// What the simulated world predicts that they cost, where it does.
    pub predicted: Option<f64>,
    /// How much may be spent.
    pub budget: f64,
    /// In which currency.
    pub currency: String,
}

/// The test-bed of a plan that rents instances.
fn rented(plan: &Plan) -> Option<&Testbed> {
    plan.testbed.as_ref().filter(|of| of.provider == Kind::Ec2)
}

fn terms(plan: &Plan, of: &Testbed) -> Terms {
    let of_pool = plan.elastic.as_ref().map_or(BillingUnit::Hour, |of| of.billing.unit);
    let unit = of.unit.unwrap_or(of_pool);
    Terms {
        budget: of.budget.as_ref().map_or(0.0, |of| of.amount),
        currency: of.budget.as_ref().map_or_else(String::new, |of| of.currency.clone()),
        most: of.max.unwrap_or(0),
        unit_s: unit.length_ns() / 1_000_000_000,
    }
}

/// The price of an hour of an instance of a role.
fn price(plan: &Plan, of: &Testbed, role: &plimsoll_plan::Role) -> f64 {
    let of_pool = || plan.elastic.as_ref().map(plimsoll_plan::Elastic::price);
    role.price.or(of.price).or_else(of_pool).unwrap_or(0.0)
}

/// What a plan can cost that has so many cells, the longest of which takes so many seconds; `None`
/// for one that rents nothing. Each cell launches its instances anew, and each launch is charged in
/// begun units.
///
/// # Errors
/// More than its budget, or none; more instances than it allows; a price that is missing.
pub fn cost(
    plan: &Plan,
    (cells, longest_s): (u64, Option<f64>),
) -> Result<Option<Cost>, ExperimentError> {
    let Some(of) = rented(plan) else { return Ok(None) };
    let (terms, conflict) = (terms(plan, of), |text: String| Err(ExperimentError::Conflict(text)));
    let pool = plan.elastic.as_ref().and_then(|of| Some((of.pool.role.as_ref()?, of.pool.most)));
    let (mut instances, mut fixed, mut hourly, mut scales) = (0, 0, 0.0, false);
    for (name, role) in plan.roles.iter().filter(|(name, _)| !plan.is_followed(name)) {
        let price = price(plan, of, role);
        if price <= 0.0 {
            return conflict(format!(
                "know what the role `{name}` costs: its instances have no price; say `price` in \
                 [testbed], an hour"
            ));
        }
        let is_scaled = pool.as_ref().is_some_and(|(of, _)| *of == name);
        let most = pool.as_ref().filter(|_| is_scaled).map_or(role.count, |(_, most)| *most);
        scales |= is_scaled;
        fixed += if is_scaled { 0 } else { role.count };
        instances += most;
        hourly += price * f64::from(most);
    }
    if fixed > terms.most || (instances > terms.most && pool.is_none()) {
        return conflict(format!(
            "rent {} instances: `max` in [testbed] is {}",
            fixed.max(instances),
            terms.most
        ));
    }
    if terms.budget <= 0.0 {
        return conflict(
            "bound what is rented: `budget` in [testbed] is missing; say the most that all cells \
             may cost, as `budget = \"5 USD\"`"
                .to_owned(),
        );
    }
    let at_once = plan.experiment.as_ref().map_or(1, |of| of.at_once.max(1));
    // Cells side by side share what there may be at once.
    let wanted = f64::from(instances) * f64::from(at_once);
    let share = (f64::from(terms.most) / wanted.max(1.0)).min(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "seconds of a plan"
    )]
    let each_s = longest_s.map(|s| (s + BESIDE.as_secs_f64()).ceil() as u64);
    let most = each_s.map(|s| cells as f64 * terms.cost(hourly * share, s));
    if let Some(most) = most.filter(|most| terms.is_too_much(*most)) {
        return conflict(format!(
            "rent instances for up to {}: `budget` in [testbed] is {}",
            terms.show(most),
            terms.show(terms.budget)
        ));
    }
    let instances = (instances * at_once).min(terms.most);
    // So much would cost a pool that changes nothing, which is no bound.
    let most = most.filter(|_| !scales);
    let Terms { budget, currency, .. } = terms;
    Ok(Some(Cost { instances, most, scales, predicted: None, budget, currency }))
}

/// The folder of the ledgers of a plan's servers: those of rented ones outlive this host's running.
#[must_use]
pub fn ledgers(plan: &Plan, place: &Place<'_>) -> PathBuf {
    match rented(plan) {
        Some(_) => lasting(place.environment),
        None => place.runtime.to_owned(),
    }
}

/// The folders in which there are ledgers.
pub(crate) fn all_ledgers(place: &Place<'_>) -> [PathBuf; 2] {
    [place.runtime.to_owned(), lasting(place.environment)]
}

/// What clouds are asked with.
pub(crate) fn surroundings(place: &Place<'_>) -> Surroundings {
    Surroundings { environment: place.environment, now_ns: place.now_ns }
}

/// The provider of a plan that rents.
///
/// # Errors
/// What is missing of what is rented; a file that cannot be read; an endpoint that cannot be used.
pub(crate) fn provider(
    plan: &Plan,
    of: &Testbed,
    place: &Place<'_>,
) -> Result<Ec2, ExperimentError> {
    let missing = |name: &str, key: &str| {
        ExperimentError::Conflict(format!(
            "rent for the role `{name}`: `{key}` is missing; say it in [testbed] or [role.{name}]"
        ))
    };
    let mut wants = BTreeMap::new();
    for (name, role) in plan.roles.iter().filter(|(name, _)| !plan.is_followed(name)) {
        let file = role.user_data.as_ref().or(of.user_data.as_ref());
        let user_data =
            file.map(|file| std::fs::read_to_string(file).map_err(FileError::of("read", file)));
        let tags = of.tags.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let wanted = Wants {
            region: role.region.clone().unwrap_or_else(|| region(of, place)),
            image: match role.image.as_ref().or(of.image.as_ref()) {
                Some(image) => {
                    let region = role.region.clone().unwrap_or_else(|| region(of, place));
                    at_cloud(image, &region, place)?
                }
                None => return Err(missing(name, "image")),
            },
            kind: role
                .kind
                .clone()
                .or_else(|| of.kind.clone())
                .ok_or_else(|| missing(name, "type"))?,
            key_pair: of.key_pair.clone(),
            security_group: of.security_group.clone(),
            zone: of.zone.clone(),
            user_data: user_data.transpose()?,
            tags,
            price: price(plan, of, role),
        };
        wants.insert(name.clone(), wanted);
    }
    Ok(Ec2::new(&cloud(of, place), wants, terms(plan, of), surroundings(place))?)
}

/// The id of an image: of one that `testbed bake` has made the cloud's own, else as it is named.
fn at_cloud(name: &str, region: &str, place: &Place<'_>) -> Result<String, ExperimentError> {
    let Ok(found) = images(place).find(name) else { return Ok(name.to_owned()) };
    let Some(AtCloud { at, id, .. }) = found.image.cloud else { return Ok(name.to_owned()) };
    if at.region != region || id.is_empty() {
        let why = match id.is_empty() {
            true => "it was not made to its end".to_owned(),
            false => format!("it is in {}", at.region),
        };
        return Err(ExperimentError::Conflict(format!(
            "start from the image `{name}` in {region}: {why}"
        )));
    }
    Ok(id)
}

/// The region of a plan: its own, else that of the environment, as other programs for clouds have
/// it.
pub(crate) fn region(of: &Testbed, place: &Place<'_>) -> String {
    let set = |name: &&str| (place.environment)(name).filter(|region| !region.is_empty());
    let of_environment = || REGIONS.iter().find_map(set);
    of.region.clone().or_else(of_environment).unwrap_or_else(|| plimsoll_plan::REGION.to_owned())
}

/// Where the cloud of a plan is.
pub(crate) fn cloud(of: &Testbed, place: &Place<'_>) -> Where {
    Where {
        endpoint: of.endpoint.clone(),
        region: region(of, place),
        api_version: of.api_version.clone(),
        profile: of.profile.clone(),
    }
}
