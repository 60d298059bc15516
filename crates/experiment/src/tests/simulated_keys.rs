//! Every key of a pool and its bill changes what a simulation says: a key that is accepted is used.

use super::{Nobody, record};
use crate::engine::execute;
use crate::plans;
use crate::world::pool::{Grid, Pool, cells, model, simulation, subject};
use plimsoll_plan::{Setting, Written, all_keys};
use plimsoll_workload::service_model::ServiceModel;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

/// A pool that is too small at noon, and whose policies act.
const PLAN: &str = "\
seed = 7
[load]
schedule = '20/s for 4m, 120/s for 12m, 10/s for 14m'
arrivals = 'poisson'
[pool]
max = 8
start = 2
[instance]
service = 'exp:70ms'
cores = 2
limit = 6
boot = 'const:90s'
[billing]
price = 0.17
[policy.eager]
kind = 'threshold'
datapoints = 2
[policy.daily]
kind = 'schedule'
times = '00:00=3,00:10=5'
";

/// Settings that a key is looked at under, the key, and another value than it has there.
type Case = (&'static [(&'static str, &'static str)], &'static str, &'static str);

const CASES: &[Case] = &[
    (&[("pool.start", "")], "pool.min", "3"),
    (&[], "pool.max", "3"),
    (&[], "pool.start", "4"),
    (&[], "pool.decide_every", "20s"),
    (&[], "pool.metric_delay", "3m"),
    (&[], "pool.metric_noise", "30%"),
    (&[("instance.boot", "exp:60s"), ("billing.unit", "minute")], "pool.terminate", "newest"),
    (&[], "pool.client_timeout", "150ms"),
    (&[], "pool.starts_at", "00:05"),
    (&[], "instance.service", "exp:90ms"),
    (&[("instance.service", "")], "instance.model", "server.json"),
    (&[], "instance.cores", "1"),
    (&[], "instance.cpu", "40ms"),
    (&[], "instance.limit", "3"),
    (&[], "instance.price", "1"),
    (&[], "instance.start", "4"),
    (&[], "instance.discipline", "sharing"),
    (&[], "instance.slowdown", "10%"),
    (&[("instance.discipline", "sharing")], "instance.slowdown", "20%"),
    (&[], "instance.speed_variation", "30%"),
    (&[], "instance.boot", "const:4m"),
    (&[], "instance.configure", "const:1m"),
    (&[], "instance.slow_start", "3:60s"),
    (&[("instance.mttf", "1h"), ("instance.mttr", "1m")], "instance.mttf", "5m"),
    (&[("instance.mttf", "5m"), ("instance.mttr", "10s")], "instance.mttr", "3m"),
    (&[], "balancer.choose", "random"),
    (&[], "balancer.ties", "random"),
    (&[], "balancer.queue", "50"),
    (&[("balancer.queue", "50")], "balancer.queue_timeout", "100ms"),
    (&[], "billing.unit", "second"),
    (&[("billing.unit", "second")], "billing.least", "50m"),
    (&[("billing.unit", "minute")], "billing.least", "50m"),
    (&[], "billing.least", "90m"),
    (&[("billing.unit", "second")], "billing.charge_from", "launch"),
    (&[], "billing.price", "1"),
    (&[], "billing.income", "0.01"),
    (&[], "billing.per_request", "0.001"),
    (&[("billing.answer", "12kB")], "billing.per_gb", "0.1"),
    (&[], "billing.balancer", "0.03"),
    (&[("billing.per_gb", "0.1")], "billing.answer", "1MB"),
    (&[("billing.answer", "12kB")], "billing.balancer_per_gb", "0.1"),
    (&[], "billing.currency", "€"),
];

/// What a simulation under these settings says, but for its timing; a setting of no text takes the
/// key out of the plan.
fn said(settings: &[(&str, &str)]) -> String {
    let mut text = PLAN.to_owned();
    let mut given = Vec::new();
    for (key, value) in settings {
        match value.is_empty() {
            true => {
                let name = key.rsplit('.').next().unwrap();
                let is_other = |line: &&str| !line.starts_with(&format!("{name} ="));
                text = text
                    .lines()
                    .filter(is_other)
                    .fold(String::new(), |all, line| all + line + "\n");
            }
            false => given.push(Setting::new(*key, *value, "--set")),
        }
    }
    let plan = plans::read(&Written::text(&text, "plan.toml", &given))
        .unwrap_or_else(|errors| panic!("{settings:?}: {errors}"));
    let model = model(&plan).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let grid = Grid { before: 0, policies: model.policies.len(), replications: 0..1 };
    let record = record(folder.path(), subject(&plan, &model, folder.path()), grid.cells());
    let cells = record.plan(cells(&model, &grid, &[])).unwrap();
    let pool = Pool::new(&model, grid, &|outcome| outcome).unwrap();
    execute(&pool, &cells, &record, &Nobody, NonZeroUsize::MIN).unwrap();
    format!("{:?}", simulation(&plan, &model, &pool.rows()).unwrap())
}

#[test]
fn every_key_of_a_pool_and_its_bill_changes_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let server = folder.path().join("server.json");
    std::fs::write(&server, r#"{ "schema": 1, "service_time": "const:70ms" }"#).unwrap();
    ServiceModel::read(&server).unwrap();
    let server = server.to_str().unwrap();
    let mut walked = BTreeSet::new();
    for (context, key, value) in CASES {
        walked.insert((*key).to_owned());
        let is_model = *key == "instance.model";
        let value = if is_model { server } else { value };
        let with = [*context, &[(*key, value)]].concat();
        // A plan without a service time is none: that of the model is held against the plan's own.
        let without = if is_model { &[] } else { *context };
        assert_ne!(said(&with), said(without), "{key} = {value} changes nothing");
    }
    let is_of_pool = |key: &String| {
        ["pool.", "instance.", "balancer.", "billing."].iter().any(|of| key.starts_with(of))
    };
    // Of the live pool: which role is scaled, and by which balancers. Of several types: what one of
    // each was measured to serve, which prices a request and simulates nothing.
    let others = [
        "pool.role",
        "pool.drain",
        "pool.follow",
        "pool.heard_at",
        "pool.token_file",
        "balancer.kind",
        "balancer.count",
        "balancer.weights",
        "instance.capacity",
    ];
    walked.extend(others.map(str::to_owned));
    let all: BTreeSet<String> = all_keys().map(|(key, _)| key).filter(is_of_pool).collect();
    assert_eq!(walked, all, "a new key needs a line here");
}
