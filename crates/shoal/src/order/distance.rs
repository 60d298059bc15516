//! `--order distance`: the nearest first, of equally near ones the least loaded.
//!
//! The order of the study of Shoal: caches by their distance from the client, whole kilometres,
//! then by their load. Nothing is drawn at random: who asks twice gets the same caches as long as
//! neither they nor their loads change, so that near caches are used first and fill up first. A
//! cache that cannot be located comes behind all that can; for a client that cannot be located the
//! load alone decides. Equals stand in the order in which they joined.
//!
//! Source: I. Gable et al., "Dynamic web cache publishing for IaaS clouds using Shoal", J. Phys.:
//! Conf. Ser. 513 (2014) 032035. That distances are told apart by whole kilometres is ours.

use std::sync::Arc;

use super::look::{MOST, distance_km, on_the_globe};
use super::{Pick, Question};
use crate::registry::Cache;

/// The caches for a client, nearest first, at most [`Question::count`] and [`MOST`].
///
/// `caches` come in the order in which they joined.
///
/// *Cost*: O(n log n) in all caches.
pub fn distance_order<'a>(
    caches: impl Iterator<Item = &'a Arc<Cache>>,
    question: &Question<'_>,
) -> Vec<Pick<'a>> {
    let spot = question.spot.filter(on_the_globe);
    let own = |cache: &Cache| question.sites.is_some_and(|sites| sites.has(question.client, cache));
    let mut ranked: Vec<(f64, f64, Pick<'a>)> = caches
        .filter(|cache| question.admits(cache))
        .map(|cache| {
            let distance_km = distance_km(spot, cache.coordinates());
            let whole_km = distance_km.map_or(f64::INFINITY, f64::floor);
            let pick = Pick { cache, distance_km, local: own(cache) };
            (whole_km, cache.load().value(), pick)
        })
        .collect();
    ranked.sort_by(|(km, load, _), (other_km, other_load, _)| {
        km.total_cmp(other_km).then(load.total_cmp(other_load))
    });
    ranked.truncate(question.count.min(MOST));
    ranked.into_iter().map(|(_, _, pick)| pick).collect()
}
