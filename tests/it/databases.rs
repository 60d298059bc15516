//! Databases of SQL: Debian's MariaDB and PostgreSQL, on ports and in folders of their own, and
//! what they count themselves.

mod mariadb;
mod postgres;

use crate::json::assert_sums;
use crate::place::Place;
use plimsoll_plan::Plan;
use plimsoll_workload::store::{Kind, Operations, Wanted};
use serde_json::Value;

const PASSWORD: &str = "pa55-Wm3XtZq8";

/// How often each kind of operation comes among the first requests of the run that a place keeps.
fn counts(place: &Place, requests: u64) -> [u64; 3] {
    let plan = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    let plan = Plan::parse(&plan, "plan.toml").unwrap();
    let operations = Operations::new(&plan.store.unwrap().workload, plan.seed, Wanted::Mixed);
    let kinds = [Kind::Read, Kind::Update, Kind::Insert];
    kinds.map(|kind| (0..requests).filter(|n| operations.at(*n).kind == kind).count() as u64)
}

/// A load of 800 requests; one attempt, so that it can be compared with the server's own count.
fn eight_hundred(place: &Place, url: &str, arguments: &[&str]) -> Value {
    let load = ["load", "--quiet", "--json", url, "--rate", "400/s", "--for", "2s"];
    let summary = place.plimsoll(&[&load[..], arguments].concat()).went_well().json();
    assert_sums(&summary);
    assert_eq!(summary["offered"], 800, "{summary}");
    assert_eq!(summary["completed"], 800, "{summary}");
    summary
}
