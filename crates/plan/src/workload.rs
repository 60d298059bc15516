//! `[workload]`: a synthetic web workload, and `[workload.class.LABEL]` its content classes.
//!
//! What the values mean, with their formulas, is said where they are drawn:
//! [`plimsoll_workload::objects`].

use plimsoll_units::{ParseError, count, share};
use plimsoll_workload::objects::{
    self, Clients, Drift, HotSet, Popularity, Population, WorkingSet, WorkloadError,
};

use crate::key::{Alternative, Choice, SectionKeys, key};
use crate::section::Section;
use crate::takes::{Form, Nested, Parsed, SHARE};
use crate::workload_class;
use crate::write::Writer;

/// The ways to say which objects there are.
static POPULATION: Choice = Choice {
    among: &[
        Alternative { key: "objects", with: &["drift"] },
        Alternative { key: "recurrence", with: &["working_set"] },
    ],
};

/// The keys of `[workload]`.
pub(crate) static WORKLOAD: SectionKeys = SectionKeys {
    path: "workload",
    about: "A synthetic web workload: which objects there are, and how popular each is.",
    groups: &[&[
        key!("objects": COUNT, "100k",
            "A closed population of so many objects: all that may be asked for."),
        key!("drift": DRIFT, said "none", "1% every 100k",
            "So large a share of them change their rank, after each so many requests."),
        key!("recurrence": RECURRENCE, "68.75%",
            "An open population: this share of requests goes to objects seen before, the others \
             to new ones."),
        key!("working_set": WORKING_SET, or WorkingSet::Growing, "drifting:100k",
            "Which of those seen before: all (`growing`), the first so many (`frozen:100k`) or \
             the newest (`drifting:100k`)."),
        key!("popularity": POPULARITY, or usual().popularity, "zipf:0.9",
            "How requests fall on the ranks of the working set: `zipf:EXPONENT` or `uniform`."),
        key!("hot_set": HOT_SET, said "none", "1%,10%",
            "The first so large a share of the working set gets this share of its requests."),
        key!("clients": COUNT, or usual().clients.count, "1000", "How many clients ask."),
        key!("client_popularity": POPULARITY, or usual().clients.popularity, "zipf:0.5",
            "How requests fall on clients: `zipf:EXPONENT` or `uniform`."),
        key!("class": Nested("table"), said "one class", "",
            "Content classes: the sections `[workload.class.LABEL]`."),
    ]],
    shorthand: None,
    choices: &[&POPULATION],
};

fn usual() -> objects::Workload {
    objects::Workload::default()
}

const DRIFT: Parsed<Drift> =
    Parsed::text("share and count", "a drift such as 1% every 100k", Drift::parse);
const WORKING_SET: Parsed<WorkingSet> =
    Parsed::text("working set", "a working set such as growing", WorkingSet::parse);
const POPULARITY: Parsed<Popularity> =
    Parsed::text("popularity", "a popularity such as zipf:0.8 or uniform", Popularity::parse);
const HOT_SET: Parsed<HotSet> =
    Parsed::text("two shares", "two shares such as 1%,10%", HotSet::parse);
const RECURRENCE: Parsed<f64> = SHARE
    .only(|text| match share(text)? {
        share if share < 1.0 => Ok(share),
        _ => Err(ParseError::new("a share below 100%", text, 0, text.len())
            .hint("where nothing new is ever asked for, give objects = \"100k\" instead")),
    })
    .such_as("a share such as 70%");
/// A count from 1 to what 32 bits hold.
const COUNT: Parsed<u32> = Parsed {
    takes: "count",
    wanted: "a count such as 100k",
    form: Form::Count,
    parse: |text| match u32::try_from(count(text)?) {
        Ok(number @ 1..) => Ok(number),
        _ => Err(ParseError::new("a count from 1 to 4294967295", text, 0, text.len())),
    },
    show: u32::to_string,
};

/// What is asked for: a synthetic web workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Its description, which has been checked.
    pub objects: objects::Workload,
}

impl Workload {
    /// Reads the section.
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let usual = usual();
        let hot_set = section.get("hot_set", &HOT_SET);
        let popularity = |key, usual| section.get(key, &POPULARITY).unwrap_or(usual);
        let clients = Clients {
            count: section.get("clients", &COUNT).unwrap_or(usual.clients.count),
            popularity: popularity("client_popularity", usual.clients.popularity),
        };
        let popularity = popularity("popularity", usual.popularity);
        let classes = workload_class::read(section);
        let population = read_population(section)?;
        let objects =
            objects::Workload { population, popularity, hot_set, classes: classes?, clients };
        if let Err(error) = objects.check() {
            let key = match error {
                WorkloadError::DriftObjects { .. } | WorkloadError::DriftSpeed { .. } => "drift",
                _ => "class",
            };
            section.fault(key, error.to_string(), None);
            return None;
        }
        Some(Self { objects })
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        let of = &self.objects;
        out.section(WORKLOAD.path);
        match &of.population {
            Population::Closed { objects, drift } => {
                out.put("objects", &COUNT, objects);
                drift.iter().for_each(|drift| out.put("drift", &DRIFT, drift));
            }
            Population::Open { recurrence, working_set } => {
                out.put("recurrence", &RECURRENCE, recurrence);
                out.put("working_set", &WORKING_SET, working_set);
            }
        }
        out.put("popularity", &POPULARITY, &of.popularity);
        of.hot_set.iter().for_each(|hot| out.put("hot_set", &HOT_SET, hot));
        out.put("clients", &COUNT, &of.clients.count);
        out.put("client_popularity", &POPULARITY, &of.clients.popularity);
        workload_class::write(&of.classes, out);
    }
}

fn read_population(section: &Section<'_>) -> Option<Population> {
    match section.chosen(&POPULATION) {
        Some(key @ "objects") => {
            let drift = section.get("drift", &DRIFT);
            Some(Population::Closed { objects: section.get(key, &COUNT)?, drift })
        }
        Some(key) => {
            let set = section.get("working_set", &WORKING_SET);
            let working_set = set.unwrap_or(WorkingSet::Growing);
            let recurrence = section.get(key, &RECURRENCE)?;
            Some(Population::Open { recurrence, working_set })
        }
        None => {
            section.missing("`objects` or `recurrence`", "objects", "100k");
            None
        }
    }
}

#[cfg(test)]
mod tests;
