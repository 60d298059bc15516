//! Workloads of plans: what is read, what is said of what cannot be, and what is written.

use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::objects::{Class, Fresh};

use super::*;
use crate::reading::Reading;
use crate::reading::error::PlanErrors;
use crate::reading::source::Source;
use crate::reading::tree;
use crate::sections::SECTIONS;
use crate::sections::workload_class::ClassKeys;

fn read(text: &str) -> Result<Workload, PlanErrors> {
    let mut source = Source::file("plan.toml", text);
    let root = tree::read(&mut source).unwrap();
    let reading = Reading::new(source, &SECTIONS);
    let workload = Workload::read(&Section::open(&reading, &root, Workload::SECTION));
    match workload {
        Some(workload) if !reading.is_faulty() => Ok(workload),
        _ => Err(reading.into_errors()),
    }
}

fn written(workload: &Workload) -> String {
    let mut out = Writer::default();
    workload.write(&mut out);
    out.finish()
}

/// Everything said, but defaults.
const WHOLE: &str = r#"
[workload]
recurrence = "68.75%"
working_set = "drifting:100k"
popularity = "uniform"
hot_set = "1%,10%"
clients = "1k"
client_popularity = "zipf:0.5"

[workload.class.page]
share = "15%"
size = "exp:8.5kB"
changes = "lognormal:7d,0.14"
variance = "33%"
fresh = "1h"
cachable = "90%"

[workload.class."other things"]
share = 0.195
size = "lognormal+pareto:10KiB,1.3,7%,1.1,133kB..50MB"

[workload.class.image]
"#;

#[test]
fn everything_is_read() {
    let of = read(WHOLE).unwrap().objects();
    let working_set = WorkingSet::Drifting(100_000);
    assert_eq!(of.population, Population::Open { recurrence: 0.6875, working_set });
    assert_eq!(of.popularity, Popularity::UNIFORM);
    assert_eq!(of.hot_set, Some(HotSet { objects: 0.01, requests: 0.1 }));
    let popularity = Popularity { exponent: 0.5 };
    assert_eq!(of.clients, Clients { count: 1000, popularity });
    let [page, other, image] = &of.classes[..] else { panic!("{:?}", of.classes) };
    let expected = Class {
        label: "page".to_owned(),
        share: 0.15,
        sizes: "exp:8500B".parse().unwrap(),
        changes: Distribution::LogNormal { mean_ns: 7 * 86_400_000_000_000, sigma: 0.14 },
        variance: 0.33,
        fresh: Fresh::For { ns: 3_600_000_000_000 },
        cachable: 0.9,
    };
    assert_eq!(page, &expected);
    assert_eq!((other.label.as_str(), other.share), ("other things", 0.195));
    // What is left, and the defaults.
    let left = Class { label: "image".to_owned(), share: 1.0 - 0.345, ..Class::default() };
    assert!((image.share - left.share).abs() < 1e-12);
    assert_eq!(&Class { share: left.share, ..image.clone() }, &left);
}

#[test]
fn little_is_enough() {
    let of = read("[workload]\nobjects = 50000\n").unwrap().objects();
    let population = Population::Closed { objects: 50_000, drift: None };
    assert_eq!(of, objects::Workload { population, ..objects::Workload::default() });
    let of = read("[workload]\nobjects = '1M'\ndrift = '1% every 100k'\n").unwrap().objects();
    let drift = Some(Drift { share: 0.01, every: 100_000 });
    assert_eq!(of.population, Population::Closed { objects: 1_000_000, drift });
    let of = read("[workload]\nrecurrence = 0.5\n").unwrap().objects();
    let working_set = WorkingSet::Growing;
    assert_eq!(of.population, Population::Open { recurrence: 0.5, working_set });
}

#[test]
fn what_is_written_reads_back_the_same() {
    let thirds = "[workload]\nrecurrence = 0.333\nworking_set = 'frozen:3'\n[workload.class.a]\n\
                  [workload.class.b]\n[workload.class.c]\nfresh = '0s'\n";
    let moving = "[workload]\nobjects = '1M'\ndrift = '0.5% every 7'\npopularity = 'zipf:1.1'\n";
    for text in [WHOLE, thirds, moving, "[workload]\nobjects = 1\n"] {
        let workload = read(text).unwrap_or_else(|errors| panic!("{errors}"));
        let again = written(&workload);
        assert_eq!(read(&again).unwrap_or_else(|errors| panic!("{errors}")), workload, "{again}");
        assert_eq!(written(&read(&again).unwrap()), again);
    }
    let short = read("[workload]\nobjects = '100k'\n").unwrap();
    assert_eq!(
        written(&short),
        "[workload]\nobjects = 100000\npopularity = \"zipf:0.8\"\nclients = 1\n\
         client_popularity = \"uniform\"\n\n[workload.class.all]\nshare = \"100%\"\n\
         size = \"exp:13000B\"\nchanges = \"none\"\nvariance = \"0%\"\n\
         fresh = \"until-change\"\ncachable = \"100%\"\n"
    );
}

#[test]
fn faults_have_their_places() {
    for (text, at, says) in [
        ("objects = 0", "2:11", "from 1 to 4294967295, found `0`"),
        ("objects = '10 k x'", "2:12", "a whole number"),
        ("objects = 5\nrecurrence = 0.5", "3:1", "exclude each other"),
        ("recurrence = 0.5\ndrift = '1% every 5'", "3:1", "`drift` goes with objects"),
        ("objects = 5\nworking_set = 'growing'", "3:1", "goes with recurrence"),
        ("recurrence = '100%'", "2:15", "a share below 100%"),
        ("recurrence = 0.5\nworking_set = 'frozn:5'", "3:16", "did you mean `frozen`"),
        ("recurrence = 0.5\nworking_set = 'frozen:0'", "3:23", "from 1 to"),
        ("objects = 5\npopularity = 'zipf:x'", "3:20", "an exponent"),
        ("objects = 5\nhot_set = '1%,x'", "3:15", "a share"),
        ("objects = 5\ndrift = '1% every 0'", "3:19", "at least one request"),
        ("objects = '9M'\ndrift = '50% every 1'", "3:9", "changes of rank a request"),
        ("objects = '900M'\ndrift = '1% every 1M'", "3:9", "where ranks drift"),
        ("objects = 5\nclients = 0", "3:11", "from 1 to"),
        ("objects = 5\nclient_popularity = 'even'", "3:22", "a popularity"),
        ("objects = 5\nobject = 6", "3:1", "did you mean `objects`"),
        ("objects = 5\nclass = 3", "3:9", "a table of names"),
        ("clients = 5", "1:1", "`objects` or `recurrence`"),
    ] {
        check(&format!("[workload]\n{text}\n"), at, says);
    }
}

#[test]
fn faults_of_classes_have_their_places() {
    for (text, at, says) in [
        ("[workload.class.a]\nshare = '0%'", "4:10", "above 0%"),
        ("[workload.class.a]\nshare = '50%'", "3:11", "come to 100%, found 50%"),
        ("[workload.class.a]\nshare = '100%'\n[workload.class.b]", "3:11", "found 100%"),
        ("[workload.class.a]\nshare = 1", "4:9", "write 1%, or 100%"),
        ("[workload.class.a]\nshare = 1.0", "4:9", "write 1%, or 100%"),
        ("[workload.class.a]\ncachable = '1'", "4:13", "write 1%, or 100%"),
        ("[workload.class.a]\nsize = 'ex:5'", "4:9", "did you mean `exp`"),
        (
            "[workload.class.a]\nsize = 'lognormal+pareto:1kB,1,7%,1,2kB..1kB'",
            "4:37",
            "the cut before the greatest",
        ),
        ("[workload.class.a]\nchanges = 'exp:7'", "4:16", "7s is 7 seconds"),
        ("[workload.class.a]\nvariance = '101%'", "4:13", "between 0 and 1"),
        ("[workload.class.a]\nfresh = 'never'", "4:10", "until-change"),
        ("[workload.class.a]\ncachable = true", "4:12", "a share"),
        ("[workload.class.a]\nsizes = '1kB'", "4:1", "did you mean `size`"),
        ("[workload.class.\"\"]", "3:17", "a label"),
        ("[workload.class]", "3:1", "1 to 1000 classes, found 0"),
        ("[workload.class.\"a\\nb\"]", "3:17", "a label"),
    ] {
        check(&format!("[workload]\nobjects = 5\n{text}\n"), at, says);
    }
    let inline = "[workload]\nobjects = 5\nclass = { a = 3 }\n";
    check(inline, "3:15", "a table of a content class");
}

/// The first fault stands there, as `line:column`, and says this, or its hint does.
fn check(text: &str, at: &str, says: &str) {
    let errors = read(text).unwrap_err();
    let first = &errors.errors[0];
    let said = errors.to_string();
    assert!(said.contains(says), "{text}\n{said}");
    let (line, column) = (first.at.line.unwrap_or(0), first.at.column.unwrap_or(0));
    let place = format!("{line}:{column}");
    assert_eq!(place, at, "{text}\n{said}");
}

#[test]
fn as_many_classes_as_there_may_be() {
    let classes = |n| -> String { (0..n).map(|n| format!("[workload.class.c{n}]\n")).collect() };
    let read = |n| read(&format!("[workload]\nobjects = 5\n{}", classes(n)));
    assert_eq!(read(1000).unwrap().objects().classes.len(), 1000);
    assert!(read(1001).unwrap_err().to_string().contains("found 1001"));
}

/// The manual's examples are right, each in the place of its own line or as one more.
#[test]
fn documented_examples_are_right() {
    let closed = "[workload]\nobjects = 5\n[workload.class.LABEL]\n";
    let open = "[workload]\nrecurrence = 0.5\n[workload.class.LABEL]\n[workload.class.other]\n";
    for (section, key) in [Workload::SECTION, ClassKeys::SECTION]
        .into_iter()
        .flat_map(|section| section.keys().map(move |key| (section, key)))
        .filter(|(_, key)| !key.example().is_empty())
    {
        let with = |plan: &str| {
            let header = format!("[{}]\n", section.path);
            let (before, after) = plan.split_once(&header).unwrap();
            let own = format!("{} = ", key.name);
            let kept: String = after
                .lines()
                .filter(|line| !line.starts_with(&own))
                .map(|l| format!("{l}\n"))
                .collect();
            read(&format!("{before}{header}{own}{}\n{kept}", key.example()))
        };
        let right = [closed, open].into_iter().any(|plan| with(plan).is_ok());
        assert!(right, "{}: {}", key.name, with(open).unwrap_err());
    }
}
