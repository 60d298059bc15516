//! What a request costs on each of the instance types that a simulation of a pool compared.

use std::collections::BTreeMap;

use plimsoll_stats::figure;
use plimsoll_workload::instance_type::{InstanceType, PricedPool, PricedType};
use serde::Deserialize;

use crate::document::{CellResult, CombinationResult, Levels};

/// The kind of the policy that is told the future: it shows what could be, and is none to choose.
const ORACLE: &str = "oracle";
/// The factors that name a pool by their levels alone.
const SPEAKING: [&str; 2] = ["policy", "type"];

/// What a pool's record tells of it, as far as it is of types.
#[derive(Default, Deserialize)]
#[serde(default)]
struct About {
    types: Vec<InstanceType>,
    kinds: BTreeMap<String, String>,
}

/// The types with their cheapest pools; none where the experiment compared none.
pub(crate) fn of(
    about: &str,
    combinations: &[CombinationResult],
    cells: &[CellResult],
) -> Vec<PricedType> {
    let About { types, kinds } = serde_json::from_str(about).unwrap_or_default();
    let is_real = |of: &&CombinationResult| {
        let kind = of.factors.get("policy").and_then(|label| kinds.get(label));
        kind.is_none_or(|kind| kind != ORACLE)
    };
    let priced = |of: InstanceType| {
        let own = combinations.iter().filter(|one| one.factors.get("type") == Some(&of.label));
        let pools: Vec<PricedPool> =
            own.filter(is_real).filter_map(|one| pool(one, cells)).collect();
        PricedType::new(of, pools)
    };
    types.into_iter().map(priced).collect()
}

/// What a combination costs; `None` where none of its cells counts.
fn pool(of: &CombinationResult, cells: &[CellResult]) -> Option<PricedPool> {
    let own = || cells.iter().filter(|cell| cell.counts() && cell.factors == of.factors);
    let mean = |name: &str| {
        let values: Option<Vec<f64>> = own().map(|cell| cell.figures.get(name).copied()).collect();
        values.filter(|of| !of.is_empty()).map(|of| of.iter().sum::<f64>() / of.len() as f64)
    };
    let (cost, served) = (mean(figure::COST.name)?, mean(figure::SERVED.name)?);
    let cost_per_request = (served > 0.0).then(|| cost / served);
    Some(PricedPool { policy: name(&of.factors), cost, cost_per_request, slo: of.slo })
}

/// What a pool is called: `slo · m1-small · instance.boot=const:1m`.
fn name(factors: &Levels) -> String {
    let speaking = SPEAKING.iter().filter_map(|factor| factors.get(*factor).cloned());
    let others = factors.iter().filter(|(factor, _)| !SPEAKING.contains(&factor.as_str()));
    let others = others.map(|(factor, level)| format!("{factor}={level}"));
    speaking.chain(others).collect::<Vec<_>>().join(" · ")
}
