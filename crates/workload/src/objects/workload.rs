//! The description of a synthetic web workload, and what must hold of it.

use super::class::{Class, MAX_LABEL_BYTES};
use super::clients::Clients;
use super::error::WorkloadError;
use super::popularity::{HotSet, MAX_EXPONENT, Popularity};
use super::population::{Drift, MAX_MOVES_A_REQUEST, MAX_MOVING, Population, WorkingSet};

/// The most content classes.
const MAX_CLASSES: usize = 1000;
/// How far the sum of the shares may be from 1: what rounding of their texts comes to.
const SHARES_WITHIN: f64 = 1e-6;

/// A synthetic web workload. With a seed it gives [`Requests`](super::Requests) and a
/// [`Catalogue`](super::Catalogue) of objects.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Which objects may be asked for.
    pub population: Population,
    /// How requests fall on the ranks of the working set.
    pub popularity: Popularity,
    /// A part of it with a share of its own.
    pub hot_set: Option<HotSet>,
    /// What kinds of objects there are; the classes are numbered in this order.
    pub classes: Vec<Class>,
    /// Who asks.
    pub clients: Clients,
}

impl Default for Workload {
    /// A hundred thousand objects of one class, Zipf-like with exponent 0.8, one client.
    fn default() -> Self {
        Self {
            population: Population::Closed { objects: 100_000, drift: None },
            popularity: Popularity { exponent: 0.8 },
            hot_set: None,
            classes: vec![Class::default()],
            clients: Clients::ONE,
        }
    }
}

impl Workload {
    /// Whether all of it holds.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), WorkloadError> {
        check_population(&self.population)?;
        range("an exponent", self.popularity.exponent, 0.0, MAX_EXPONENT)?;
        if let Some(hot) = self.hot_set {
            range("the hot set's share of the objects", hot.objects, f64::MIN_POSITIVE, 1.0)?;
            range("the hot set's share of the requests", hot.requests, 0.0, 1.0)?;
        }
        check_classes(&self.classes)?;
        if self.clients.count == 0 {
            return Err(WorkloadError::None { of: "clients" });
        }
        range("the clients' exponent", self.clients.popularity.exponent, 0.0, MAX_EXPONENT)
    }

    /// The mean size of an object, bytes: of the objects, not of the requests.
    #[must_use]
    pub fn mean_size(&self) -> f64 {
        self.classes.iter().map(|class| class.share * class.sizes.mean()).sum()
    }
}

fn range(what: &'static str, found: f64, least: f64, most: f64) -> Result<(), WorkloadError> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(WorkloadError::Range { what, least, most, found })
}

fn check_population(population: &Population) -> Result<(), WorkloadError> {
    match *population {
        Population::Closed { objects: 0, .. } => Err(WorkloadError::None { of: "objects" }),
        Population::Closed { drift: None, .. } => Ok(()),
        Population::Closed { objects, drift: Some(drift) } => check_drift(objects, drift),
        Population::Open { recurrence, working_set } => {
            if !(0.0..1.0).contains(&recurrence) {
                return Err(WorkloadError::Recurrence { found: recurrence });
            }
            match working_set {
                WorkingSet::Frozen(0) | WorkingSet::Drifting(0) => {
                    Err(WorkloadError::None { of: "objects of the working set" })
                }
                _ => Ok(()),
            }
        }
    }
}

fn check_drift(objects: u32, drift: Drift) -> Result<(), WorkloadError> {
    range("the drift's share of the objects", drift.share, f64::MIN_POSITIVE, 1.0)?;
    if drift.every == 0 {
        return Err(WorkloadError::None { of: "requests between two changes of rank" });
    }
    if objects > MAX_MOVING {
        return Err(WorkloadError::DriftObjects { most: MAX_MOVING, found: objects });
    }
    let (moved, every) = (drift.moved(objects), drift.every);
    if u64::from(moved) > every.saturating_mul(MAX_MOVES_A_REQUEST) {
        return Err(WorkloadError::DriftSpeed { most: MAX_MOVES_A_REQUEST, moved, every });
    }
    Ok(())
}

fn check_classes(classes: &[Class]) -> Result<(), WorkloadError> {
    let found = classes.len();
    if !(1..=MAX_CLASSES).contains(&found) {
        return Err(WorkloadError::Classes { most: MAX_CLASSES, found });
    }
    for (at, class) in classes.iter().enumerate() {
        let is_label = (1..=MAX_LABEL_BYTES).contains(&class.label.len());
        if !is_label || classes[..at].iter().any(|other| other.label == class.label) {
            let found = class.label.clone();
            return Err(WorkloadError::Label { most: MAX_LABEL_BYTES, found });
        }
        range("a class's share of the objects", class.share, f64::MIN_POSITIVE, 1.0)?;
        range("the variance of changes", class.variance, 0.0, 1.0)?;
        range("the share of cachable objects", class.cachable, 0.0, 1.0)?;
    }
    let sum: f64 = classes.iter().map(|class| class.share).sum();
    if (sum - 1.0).abs() > SHARES_WITHIN {
        return Err(WorkloadError::Shares { found: sum * 100.0 });
    }
    Ok(())
}
