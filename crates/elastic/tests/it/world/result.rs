//! The result: means of replications with their intervals, and differences on the same requests.

use super::{demand, played, replicate, setup};
use plimsoll_elastic::outcome::Outcome;
use plimsoll_elastic::policy::{self, Facts};
use plimsoll_elastic::result::{Paired, PolicyResult};
use plimsoll_elastic::simulated::Setup;
use std::collections::BTreeMap;

fn rows(setup: &Setup, instances: &[&str]) -> Vec<Vec<Outcome>> {
    let facts: Facts = super::facts(setup);
    let fixed = |count: &&str| {
        let given = [("instances".to_owned(), (*count).to_owned())];
        policy::kind("fixed").unwrap().make(&given, &facts).unwrap()
    };
    let makers: Vec<_> = instances.iter().map(fixed).collect();
    replicate(setup, &demand(setup), &makers, 4, 2)
}

fn again(result: &PolicyResult) -> PolicyResult {
    serde_json::from_str(&serde_json::to_string(result).unwrap()).unwrap()
}

#[test]
fn figures_are_means_and_lie_in_their_intervals() {
    let rows = rows(&setup("150/s for 2m"), &["4"]);
    let result = PolicyResult::of("four", "fixed", "the rule", None, &rows[0]);
    let mean = |of: fn(&Outcome) -> f64| rows[0].iter().map(of).sum::<f64>() / 4.0;
    for (found, field, wanted) in [
        (result.offered, "offered", mean(|of| of.offered as f64)),
        (result.served, "served", mean(|of| of.served as f64)),
        (result.lost, "lost", mean(|of| of.lost() as f64)),
        (result.cpu_mean, "cpu_mean", mean(|of| of.cpu_mean)),
        (result.cost, "cost", mean(|of| of.bill.cost)),
    ] {
        assert!((found - wanted).abs() < 1e-9 * wanted.abs().max(1.0), "{field}: {found} {wanted}");
        let (low, high) = result.ci95[field];
        assert!(low <= found && found <= high, "{field}: {low} {found} {high}");
    }
    assert!((result.offered - result.served - result.lost - result.in_flight_at_end).abs() < 1e-6);
    assert!((result.lost_by.values().sum::<f64>() - result.lost).abs() < 1e-6);
    assert!((result.response_us.count as f64 / 4.0 - result.served).abs() < 1e-6);
    assert_eq!(again(&result), result);
    // Of a single replication there is no interval, and no word of one.
    let one = PolicyResult::of("four", "fixed", "the rule", None, &rows[0][..1]);
    assert!(one.ci95.is_empty() && !serde_json::to_string(&one).unwrap().contains("ci95"));
}

#[test]
fn pairs_differ_by_as_much_as_their_means() {
    let rows = rows(&setup("150/s for 2m"), &["4", "8"]);
    let paired = Paired::of("eight", &rows[1], "four", &rows[0]).unwrap();
    let [four, eight] =
        [0, 1].map(|row| PolicyResult::of("of", "fixed", "the rule", None, &rows[row]));
    assert!((paired.difference["lost"] - (eight.lost - four.lost)).abs() < 1e-6);
    assert!(paired.difference["offered"].abs() < 1e-12, "the same requests");
    let (low, high) = paired.ci95["lost"];
    assert!(low < high && high < 0.0, "eight lose fewer: {low} {high}");
    assert!(Paired::of("eight", &rows[1][..1], "four", &rows[0][..1]).is_none());
    assert!(Paired::of("eight", &rows[1], "four", &rows[0][..2]).is_none());
}

/// Nobody was served: response times are not numbers, and are left out.
#[test]
fn what_is_not_a_number_is_left_out() {
    let none = Setup { start: 0, least: 0, ..setup("5/s for 1m") };
    let outcomes = [played(&none, &[0]), played(&none, &[0])];
    let result = PolicyResult::of("none", "fixed", "the rule", None, &outcomes);
    assert!(!result.ci95.contains_key("response_mean_us") && result.ci95.contains_key("lost"));
    assert_eq!(again(&result), result);
    let paired = Paired::of("none", &outcomes, "other", &outcomes).unwrap();
    assert!(!paired.difference.contains_key("response_mean_us"));
}

/// Every number of a result, by its path.
fn numbers(of: &serde_json::Value, path: &str, found: &mut BTreeMap<String, f64>) {
    if let Some(number) = of.as_f64() {
        found.insert(path.to_owned(), number);
    }
    for (key, value) in of.as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        numbers(value, &path, found);
    }
}

#[test]
fn the_figures_of_a_replication_are_the_numbers_of_its_result() {
    let rows = rows(&setup("150/s for 2m"), &["1", "4"]);
    for outcome in rows.iter().flatten() {
        let one = std::slice::from_ref(outcome);
        let result = PolicyResult::of("four", "fixed", "the rule", None, one);
        let mut wanted = BTreeMap::new();
        numbers(&serde_json::to_value(&result).unwrap(), "", &mut wanted);
        // How much there was, and the means of replications' own figures, are no figures of one.
        for key in ["replications", "response_us.count", "response_mean_us", "response_p99_us"] {
            assert!(wanted.remove(key).is_some(), "{key}");
        }
        wanted.insert("lost_share".to_owned(), result.lost / result.offered);
        let mut found: BTreeMap<String, f64> =
            outcome.figures().iter().map(|(of, value)| (of.name.to_owned(), *value)).collect();
        // What becomes of instances is told of each replication by itself.
        for key in ["wasted_instance_s", "start_failures", "replaced", "adopted"] {
            assert!(found.remove(key).is_some(), "{key}");
        }
        assert_eq!(found, wanted);
    }
}
