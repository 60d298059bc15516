//! What the pool is, and how each figure is counted.

use super::policies::Pools;
use crate::document::Block;

/// What the pool is.
pub(super) fn about(pools: &Pools<'_>) -> Block {
    let about = &pools.about;
    let slo = if pools.slo.is_empty() { "none" } else { &pools.slo };
    let of = [
        ("Load", about.load.clone()),
        ("Instances", about.instance.clone()),
        ("Balancer", about.balancer.clone()),
        ("Billing", about.billing.clone()),
        ("SLO", slo.to_owned()),
        ("Replications", format!("{} of each policy", pools.cells.replications())),
    ];
    let known = of.into_iter().filter(|(_, text)| !text.is_empty());
    Block::Notes(known.map(|(word, text)| (word.to_owned(), text)).collect())
}

/// How figures are counted.
pub(super) fn notes(pools: &Pools<'_>) -> Block {
    let rule = pools.about.demand.as_str();
    let demand = if rule.is_empty() { "how many instances the rate of a tick needs" } else { rule };
    let slo = if pools.slo.is_empty() {
        "The plan has no SLO, so only ticks count in which requests were lost and none was served."
    } else {
        "The time of the ticks in which some clause of the SLO did not hold over all requests that \
         ended in them: one that was lost is slower than any bound. Where none ended, those that \
         wait count with the time they have waited."
    };
    let mut all = vec![
        ("Demand", format!("In each tick {demand}. {OF_DEMAND}")),
        ("Hours and cost", format!("{BILL} {}", pools.about.billing)),
    ];
    if pools.earns() {
        all.push(("Net", NET.to_owned()));
    }
    all.extend(NOTES.map(|(word, text)| (word, text.to_owned())));
    all.push(("SLO not held", slo.to_owned()));
    Block::Notes(all.into_iter().map(|(word, text)| (word.to_owned(), text)).collect())
}

const OF_DEMAND: &str =
    "It goes by the rate of the very tick, which no policy but the oracle knows.";

const BILL: &str = "Hours billed are those that are charged, in started units of time; hours used \
                    are the same instances without rounding up.";

const NET: &str = "What the served requests earn, less the cost.";

const NOTES: [(&str, &str); 7] = [
    (
        "Lost",
        "Requests that were due and not served, by cause, when their clients knew; what was still \
         in flight when the load ended is neither served nor lost, and counted apart. The share is \
         of the requests due.",
    ),
    (
        "Response time",
        "From the moment a request was due until it was served, of those that were served: a \
         policy that loses many may look fast. Mean and percentiles are means of the \
         replications' own.",
    ),
    (
        "CPU",
        "The share of the time in which the cores of the instances that took requests worked, as \
         far as a request's service is processor time: what a policy sees. Work counts when it is \
         done, for clients that have given up too; instances that drain are left out.",
    ),
    (
        "Under and over",
        "Accuracy is by how many instances the supply was below or above the demand, in the mean \
         over all the time; timeshare is the share of the time in which it was. Both are the \
         elasticity metrics of the SPEC research group.",
    ),
    (
        "Jitter",
        "By how many instances an hour the supply changed beyond what the demand changed by; below \
         zero it changed less.",
    ),
    (
        "Intervals",
        "95% intervals of means over replications, by Student's t. The ticks of one replication \
         depend on each other and make none.",
    ),
    (
        "Courses and decisions",
        "Those of the first replication of each policy; all policies had the same requests in it.",
    ),
];
