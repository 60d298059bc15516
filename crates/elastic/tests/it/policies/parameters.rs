//! What is wrong with a policy's parameters: one fault for each thing, with the parameter's name.

use super::scene::{facts, pairs};
use plimsoll_elastic::policy::{self, Facts, Fault, Future, KINDS};

fn faults(kind: &str, given: &[(&str, &str)], facts: &Facts) -> Vec<Fault> {
    policy::kind(kind).unwrap().make(&pairs(given), facts).err().unwrap_or_default()
}

/// Facts with a future and an income: every kind can be made of them.
fn all_facts() -> Facts {
    let future = Some(Future { step_s: 60.0, rates: vec![100.0; 60] }.into());
    Facts { future, ..facts() }
}

/// A policy, its parameters, the one at fault, and what is said of it.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

const CASES: [Case; 42] = [
    ("fixed", &[("instances", "0")], "instances", "a whole number from 1"),
    ("fixed", &[("instances", "2.5")], "instances", "found `2.5`"),
    ("threshold", &[("uper", "70")], "uper", "`threshold` has no parameter `uper`"),
    ("threshold", &[("upper", "60"), ("lower", "60")], "lower", "found 60 and 60"),
    ("threshold", &[("upper", "50")], "upper", "found 60 and 50"),
    ("threshold", &[("lower", "80")], "lower", "found 80 and 70"),
    ("threshold", &[("add", "1"), ("add", "2")], "add", "`add` is given twice"),
    ("threshold", &[("upper", "-1")], "upper", "a number from 0"),
    ("threshold", &[("upper", "NaN")], "upper", "a number from 0"),
    ("threshold", &[("lower", "high")], "lower", "found `high`"),
    ("threshold", &[("datapoints", "0")], "datapoints", "a whole number from 1"),
    ("threshold", &[("of", "16")], "of", "at most `datapoints`, found 16 and 15"),
    ("threshold", &[("period", "0s")], "period", "a duration from 0.001s"),
    ("threshold", &[("cooldown", "5")], "cooldown", "`cooldown`"),
    ("threshold", &[("sticky", "yes")], "sticky", "one of true, false"),
    ("threshold", &[("metric", "cpuu")], "metric", "one of cpu, memory"),
    ("threshold", &[("metric", "rate"), ("upper", "9")], "lower", "needed with `metric=rate`"),
    ("threshold", &[("add", "1"), ("set_above", "5")], "set_above", "exclude each other"),
    ("step", &[("up", "70")], "up", "a bound and a step"),
    ("step", &[("up", "70:1,70:2")], "up", "each bound once"),
    ("step", &[("down", "80:1")], "down", "found 80 and 70"),
    ("step", &[("up", "30:1")], "up", "found 40 and 30"),
    ("step", &[("metric", "queue"), ("up", "9:1")], "down", "needed with `metric=queue`"),
    ("target", &[("metric", "lost")], "metric", "one of cpu, memory, rate, response"),
    ("target", &[("metric", "rate")], "target", "needed with `metric=rate`"),
    ("target", &[("tolerance", "2")], "tolerance", "a number from 0 to 1"),
    ("target", &[("up", "4")], "up", "a count or a share in a period"),
    ("hpa", &[("down_select", "most")], "down_select", "one of max, min, off"),
    ("hpa", &[("up_tolerance", "-1")], "up_tolerance", "a number from 0 to 1"),
    ("panic", &[("panic", "2m")], "panic", "expected `panic` within `stable`, found 120 of 60"),
    ("panic", &[("metric", "cpu")], "metric", "one of concurrency, rate"),
    ("panic", &[("threshold", "0.5")], "threshold", "a number from 1"),
    ("revenue", &[("income", "0")], "income", "needs what a request earns"),
    ("revenue", &[("blocking", "erlang")], "blocking", "one of modified, erlang-b"),
    ("revenue", &[("rate", "weighted")], "rate", "mean, steps:5m or weighted:5m"),
    ("revenue", &[("early", "1h")], "early", "a duration from 0s to 1800s"),
    ("schedule", &[], "times", "needs its times"),
    ("schedule", &[("times", "25:00=1")], "times", "a time and a count"),
    ("predictive", &[("step", "7m"), ("forecast", "holt-winters")], "step", "divides a day"),
    ("predictive", &[("step", "2h")], "step", "a duration from 1s to 3600s"),
    ("predictive", &[("alpha", "1.1")], "alpha", "a number from 0 to 1"),
    ("slo", &[("gain", "2")], "gain", "a number from 0 to 1"),
];

#[test]
fn each_fault_is_told_once_and_by_name() {
    for (kind, given, parameter, message) in CASES {
        let found = faults(kind, given, &all_facts());
        assert_eq!(found.len(), 1, "{kind} {given:?}: {found:?}");
        assert_eq!(found[0].parameter.as_deref(), Some(parameter), "{kind} {given:?}: {found:?}");
        assert!(found[0].message.contains(message), "{kind} {given:?}: {found:?}");
    }
}

#[test]
fn names_that_are_near_are_offered() {
    let hint =
        |kind: &str, given: &[(&str, &str)]| faults(kind, given, &all_facts())[0].hint.clone();
    let offered = |name: &str| Some(format!("did you mean {name}?"));
    assert_eq!(hint("threshold", &[("uper", "70")]), offered("upper"));
    assert_eq!(hint("threshold", &[("metric", "cpuu")]), offered("cpu"));
    assert_eq!(hint("revenue", &[("blocking", "erlangb")]), offered("erlang-b"));
    let fault = policy::kind("treshold").err().unwrap();
    assert_eq!((fault.parameter, fault.hint), (None, offered("threshold")));
    assert!(fault.message.contains("one of fixed, threshold, step"), "{}", fault.message);
    let found = faults("oracle", &[], &facts());
    assert!(found[0].message.contains("simulated load only"), "{found:?}");
    let poor = Facts { income: 0.0, ..facts() };
    assert_eq!(faults("revenue", &[], &poor)[0].parameter.as_deref(), Some("income"));
}

#[test]
fn several_faults_are_all_told() {
    let found =
        faults("threshold", &[("upper", "x"), ("of", "0"), ("coldown", "1m")], &all_facts());
    let names: Vec<&str> = found.iter().filter_map(|of| of.parameter.as_deref()).collect();
    assert_eq!(names, ["coldown", "upper", "of"]);
}

/// Every parameter of the manual is read, and takes no nonsense; without any, every kind can be
/// made that needs none.
#[test]
fn every_parameter_is_read() {
    for kind in KINDS {
        let needed: &[(&str, &str)] =
            if kind.name == "schedule" { &[("times", "08:00=5")] } else { &[] };
        assert!(faults(kind.name, needed, &all_facts()).is_empty(), "{}", kind.name);
        for parameter in kind.parameters {
            let other = needed.iter().filter(|(name, _)| *name != parameter.name).copied();
            let given: Vec<_> = other.chain([(parameter.name, "?!")]).collect();
            let found = faults(kind.name, &given, &all_facts());
            let names: Vec<_> = found.iter().filter_map(|of| of.parameter.as_deref()).collect();
            assert_eq!(names, [parameter.name], "{} {found:?}", kind.name);
        }
    }
}

/// The defaults of the manual are those of the code, where they are said in the words of a plan.
#[test]
fn defaults_are_what_the_manual_says() {
    for kind in KINDS {
        for parameter in kind.parameters {
            let default = parameter.default.trim_end_matches(" of cpu");
            let in_words = default.contains(' ') || default == "–";
            if !in_words {
                let mut given = vec![(parameter.name, default)];
                if kind.name == "schedule" {
                    given.push(("times", "08:00=5"));
                }
                let found = faults(kind.name, &given, &all_facts());
                assert!(found.is_empty(), "{} {found:?}", kind.name);
            }
        }
    }
}
