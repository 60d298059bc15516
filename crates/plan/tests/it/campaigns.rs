//! Campaigns are written out as named factors: what becomes of each of their keys.

use super::{parse, parse_with};
use plimsoll_plan::{Setting, Varied};
use std::time::Duration;

const PLAN: &str = "\
[campaign]
runs = 8
every = '15m'
from = { gen1 = { region = 'eu' }, gen2 = { region = 'us' } }
[campaign.target.a]
url = 'http://10.0.0.5:8080/'
labels = { region = 'eu', price = '0.085/h' }
[campaign.target.b]
url = 'http://10.0.0.6:8080/'
labels = { region = 'us' }
[campaign.target.c]
url = 'http://10.0.0.7:8080/'
labels = { region = 'us' }
[load]
users = 4
for = '10s'
[fleet]
hosts = { gen1 = '10.0.8.1', gen2 = '10.0.8.2' }
";

#[test]
fn a_campaign_is_an_experiment_of_targets_and_vantage_points() {
    let plan = parse(PLAN, "plan.toml").unwrap();
    let keys: Vec<(&str, Vec<String>)> =
        plan.factors.iter().map(|of| (of.key.as_str(), of.levels.clone())).collect();
    let owned = |of: &[&str]| of.iter().map(|level| (*level).to_owned()).collect::<Vec<_>>();
    let wanted = [("target", owned(&["a", "b", "c"])), ("from", owned(&["gen1", "gen2"]))];
    assert_eq!(keys, wanted);
    let url = ("target.url".to_owned(), "http://10.0.0.6:8080/".to_owned());
    assert_eq!(plan.factors[0].settings("b"), [url]);
    assert_eq!(plan.factors[1].settings("gen2"), [("fleet.from".to_owned(), "gen2".to_owned())]);
    assert_eq!(plan.factors[0].labels["a"]["price"], "0.085/h");
    assert_eq!(plan.factors[1].labels["gen2"]["region"], "us");
    let experiment = plan.experiment.clone().unwrap();
    assert_eq!((experiment.replications, experiment.at_once), (8, 2));
    assert_eq!(experiment.every, Some(Duration::from_secs(900)));
    assert_eq!(experiment.apart, ["target", "from"]);
    assert!(experiment.constraints.is_empty());
    // What is printed says the same without a campaign.
    let printed = plan.to_toml();
    assert!(!printed.contains("campaign"), "{printed}");
    let again = parse(&printed, "plan.toml").unwrap();
    assert_eq!((&again.factors, &again.experiment), (&plan.factors, &plan.experiment), "{printed}");
    assert_eq!(Varied::of(PLAN).unwrap(), plan.varied());
}

#[test]
fn pairs_are_all_those_of_one_label_or_listed() {
    let pairs = |pairs: &str| {
        let plan = parse(&PLAN.replace("runs = 8", &format!("pairs = {pairs}")), "plan.toml");
        let constraints = plan.unwrap().experiment.unwrap().constraints;
        constraints.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(pairs("'all'"), [""; 0]);
    let same = ["target = a needs from = gen1", "target = b needs from = gen2"];
    assert_eq!(pairs("'same region'"), [&same[..], &["target = c needs from = gen2"]].concat());
    let listed = "['a from gen1', 'b from gen2', 'b from gen1', 'c from gen1']";
    let wanted = ["target = a needs from = gen1", "target = b needs from = gen2, gen1"];
    assert_eq!(pairs(listed), [&wanted[..], &["target = c needs from = gen1"]].concat());
}

#[test]
fn flags_set_keys_of_a_campaign_and_choose_among_what_it_becomes() {
    let setting = |pair: &str| Setting::from_pair(pair).unwrap();
    let with = |pairs: &[&str]| {
        let all: Vec<Setting> = pairs.iter().map(|pair| setting(pair)).collect();
        parse_with(PLAN, "plan.toml", &all)
    };
    let plan = with(&["campaign.runs=2", "factor.from=gen2", "factor.target=c,a"]).unwrap();
    assert_eq!(plan.experiment.as_ref().unwrap().replications, 2);
    assert_eq!(plan.factors[0].levels, ["c", "a"]);
    assert_eq!(plan.factors[1].levels, ["gen2"]);
    for (pair, says) in [
        ("campaign.runs=0", "runs"),
        ("campaign.pairs=a from gen3", "`a from gen3`"),
        ("factor.from=gen3", "gen3"),
        ("campaign.rounds=3", "rounds"),
    ] {
        let told = with(&[pair]).unwrap_err().to_string();
        assert!(told.contains(says), "{told}");
    }
}

#[test]
fn a_campaign_without_workers_measures_target_by_target() {
    let text = PLAN.replace("from = { gen1 = { region = 'eu' }, gen2 = { region = 'us' } }\n", "");
    let alone = parse(text.split("[fleet]").next().unwrap(), "plan.toml").unwrap();
    assert_eq!(alone.factors.len(), 1);
    assert_eq!(alone.experiment.unwrap().at_once, 1);
    // Hosts by name are vantage points without labels.
    let hosts = parse(&text, "plan.toml").unwrap();
    assert_eq!(hosts.factors[1].levels, ["gen1", "gen2"]);
    assert!(hosts.factors[1].labels.is_empty());
    let unnamed = text.replace("{ gen1 = '10.0.8.1', gen2 = '10.0.8.2' }", "'10.0.8.1'");
    let told = parse(&unnamed, "plan.toml").unwrap_err().to_string();
    assert!(told.contains("`from` is missing"), "{told}");
}
