//! Instance types: what `[instance]` says for all of them, what each says itself, and how they are
//! levels of a factor.

use plimsoll_plan::{Plan, Service, Setting, TYPE, Varied};

use crate::parse;

const BASE: &str = "[load]\nrate = '5/s'\nfor = '1h'\n[policy.calm]\nkind = 'threshold'\n";

fn plan(types: &str) -> Plan {
    parse(&format!("{BASE}{types}"), "plan.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn said(types: &str) -> String {
    let text = format!("{BASE}{types}");
    parse(&text, "plan.toml").map(drop).expect_err(&text).to_string()
}

const TWO: &str = "[instance]\nmodel = 'a.json'\nlimit = 10\n\
                   [instance.small]\nprice = 0.085\ncapacity = '6/s'\n\
                   [instance.\"m1 large\"]\nservice = 'exp:70ms'\nlimit = 4\nslowdown = '3%'\n";

#[test]
fn a_type_says_what_the_common_table_does_not() {
    let elastic = plan(TWO).elastic.unwrap();
    let [small, large] = &elastic.types[..] else { panic!("{:?}", elastic.types) };
    assert_eq!((small.label.as_str(), large.label.as_str()), ("small", "m1 large"));
    assert_eq!((small.instance.limit, large.instance.limit), (Some(Some(10)), Some(Some(4))));
    assert!(matches!(small.instance.service, Service::Model(_)));
    // What it excludes of the common table is not there.
    assert!(matches!(large.instance.service, Service::Law(_)));
    assert_eq!((small.instance.price, large.instance.price), (Some(0.085), None));
    assert_eq!(elastic.instance, small.instance, "the first is what the plan's own keys mean");
    // A plan without types has none.
    let one = plan("[instance]\nservice = 'exp:70ms'\n").elastic.unwrap();
    assert_eq!((one.types.len(), one.price().to_bits()), (0, 0.0_f64.to_bits()));
}

#[test]
fn a_plan_of_types_is_printed_and_reads_back_the_same() {
    for types in [TWO, "[instance.only]\nservice = 'exp:70ms'\nstart = 3\nprice = 1\n"] {
        let plan = plan(types);
        let printed = plan.to_toml();
        let again = parse(&printed, "plan.toml").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((&again, again.to_toml()), (&plan, printed));
    }
}

#[test]
fn types_are_levels_of_a_factor_of_their_own() {
    let two = plan(TWO);
    assert_eq!(two.types(), ["small", "m1 large"]);
    let varied = two.varied();
    assert_eq!(varied, Varied::of(&two.to_toml()).unwrap());
    assert_eq!((varied.factors.len(), varied.factors[0].key.as_str()), (1, TYPE));
    assert!(varied.factors[0].is_own() && two.is_experiment() && !two.is_designed());
    assert_eq!(varied.common, [("policy".to_owned(), "calm".to_owned())]);
    // Which are compared, and with which first, is the plan's to say.
    let chosen = plan(&format!("{TWO}[factor]\ntype = ['m1 large', 'small']\n"));
    assert_eq!(chosen.types(), ["m1 large", "small"]);
    // With one of them it is a plan of one.
    let one = two.clone().chosen(Some("m1 large"));
    let elastic = one.elastic.as_ref().unwrap();
    assert_eq!((elastic.types.len(), &elastic.instance), (1, &elastic.types[0].instance));
    assert!(matches!(elastic.instance.service, Service::Law(_)));
    // A single one is a level that all cells have.
    let mut kept = two;
    kept.keep(&["m1 large".to_owned()]);
    assert!(!kept.is_experiment());
    assert!(kept.varied().common.contains(&(TYPE.to_owned(), "m1 large".to_owned())));
    assert_eq!(parse(&kept.to_toml(), "plan.toml").unwrap(), kept);
}

#[test]
fn what_is_wrong_with_types_is_told_once_and_in_its_place() {
    for (types, says) in [
        ("[instance]\nservice = 'exp:70ms'\nlimt = 3\n[instance.a]\n[instance.b]\n", "8:1"),
        ("[instance]\nservice = 'exp:70'\n[instance.a]\n[instance.b]\n", "plan.toml:7:"),
        ("[instance.a]\nservice = 'exp:1ms'\n[instance.b]\ncores = 2\n", "8:11"),
        ("[instance.a]\nservice = 'exp:1ms'\nlimt = 3\n", "did you mean `limit`?"),
        ("[instance.a]\nservice = 'exp:1ms'\ncapacity = '1/s'\nslowdown = '3%'\n", "exclude"),
        ("[instance.a]\nservice = 'exp:1ms'\nstart = 30\n", "expected `start` from 1 to 20"),
        ("[instance.cores]\nservice = 'exp:1ms'\n", "a whole number"),
        (&format!("{TWO}[factor]\ntype = ['small', 'm1 larg']\n"), "did you mean `m1 large`?"),
        (
            &format!(
                "{TWO}[factor.type]\na = {{ \"load.rate\" = '1/s' }}\n\
                   b = {{ \"load.rate\" = '2/s' }}\n"
            ),
            "instance types",
        ),
        (&format!("{TWO}[factor]\n\"instance.small.limt\" = [2, 4]\n"), "a key of the plan"),
        (&format!("{TWO}[tune]\n"), "under its policies"),
    ] {
        let said = said(types);
        assert!(said.contains(says), "{types}:\n{said}");
        let is_fault =
            |line: &&str| line.starts_with("plan.toml:") && !line.ends_with(" is given here");
        let told: Vec<&str> = said.lines().filter(is_fault).collect();
        // A key's name is no label: so `cores` is no number, and the section has no service.
        let count = if types.starts_with("[instance.cores]") { 2 } else { 1 };
        assert_eq!(told.len(), count, "{types}:\n{said}");
    }
    let no_policy = "[load]\nrate = '5/s'\nfor = '1h'\n[instance.a]\nservice = 'exp:1ms'\n\
                     [instance.b]\nservice = 'exp:2ms'\n";
    let said = parse(no_policy, "plan.toml").unwrap_err().to_string();
    assert!(said.contains("give a [policy.LABEL]"), "{said}");
}

#[test]
fn flags_and_factors_reach_a_type_and_what_holds_for_all() {
    let set = |key: &str, value: &str| Setting::new(key, value, "--set");
    let text = format!("{BASE}{TWO}").replace("m1 large", "large");
    let settings = [set("instance.small.price", "0.1"), set("instance.boot", "const:9s")];
    let plan = crate::parse_with(&text, "plan.toml", &settings).unwrap();
    let types = plan.elastic.unwrap().types;
    assert_eq!(types[0].instance.price, Some(0.1));
    assert!(types.iter().all(|of| (of.instance.boot.mean() - 9.0).abs() < 1e-9));
}
