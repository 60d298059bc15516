//! `[workload]`: a synthetic web workload, and `[workload.class.LABEL]` its content classes.
//!
//! What the values mean, with their formulas, is said where they are drawn:
//! [`plimsoll_workload::objects`].

use plimsoll_units::{ParseError, count, share, show_share_exact};
use plimsoll_workload::objects::{
    self, Clients, Drift, HotSet, Popularity, Population, WorkingSet, WorkloadError,
};

use crate::key::{Alternative, Choice, SectionKeys, key};
use crate::section::Section;
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
    keys: &[
        key(
            "objects",
            "count",
            "–",
            r#""100k""#,
            "A closed population of so many objects: all that may be asked for.",
        ),
        key(
            "drift",
            "share and count",
            "none",
            r#""1% every 100k""#,
            "So large a share of them change their rank, after each so many requests.",
        ),
        key(
            "recurrence",
            "share",
            "–",
            r#""68.75%""#,
            "An open population: this share of requests goes to objects seen before, the others to \
             new ones.",
        ),
        key(
            "working_set",
            "working set",
            "growing",
            r#""drifting:100k""#,
            "Which of those seen before: all (`growing`), the first so many (`frozen:100k`) or the \
             newest (`drifting:100k`).",
        ),
        key(
            "popularity",
            "popularity",
            "zipf:0.8",
            r#""zipf:0.9""#,
            "How requests fall on the ranks of the working set: `zipf:EXPONENT` or `uniform`.",
        ),
        key(
            "hot_set",
            "two shares",
            "none",
            r#""1%,10%""#,
            "The first so large a share of the working set gets this share of its requests.",
        ),
        key("clients", "count", "1", "1000", "How many clients ask."),
        key(
            "client_popularity",
            "popularity",
            "uniform",
            r#""zipf:0.5""#,
            "How requests fall on clients: `zipf:EXPONENT` or `uniform`.",
        ),
        key(
            "class",
            "table",
            "one class",
            "",
            "Content classes: the sections `[workload.class.LABEL]`.",
        ),
    ],
    shorthand: None,
    lists: &[],
    maps: &["class"],
    choices: &[&POPULATION],
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
        let popularity = |key| section.parsed(key, POPULARITY_WANTED, Popularity::parse);
        let default = objects::Workload::default();
        let hot_set = section.parsed("hot_set", "two shares such as 1%,10%", HotSet::parse);
        let clients = Clients {
            count: whole(section, "clients").unwrap_or(default.clients.count),
            popularity: popularity("client_popularity").unwrap_or(default.clients.popularity),
        };
        let popularity = popularity("popularity").unwrap_or(default.popularity);
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
        match of.population {
            Population::Closed { objects, drift } => {
                out.whole("objects", u64::from(objects));
                drift.iter().for_each(|drift| out.text("drift", drift));
            }
            Population::Open { recurrence, working_set } => {
                out.text("recurrence", show_share_exact(recurrence));
                out.text("working_set", working_set);
            }
        }
        out.text("popularity", of.popularity);
        of.hot_set.iter().for_each(|hot| out.text("hot_set", hot));
        out.whole("clients", u64::from(of.clients.count));
        out.text("client_popularity", of.clients.popularity);
        workload_class::write(&of.classes, out);
    }
}

const POPULARITY_WANTED: &str = "a popularity such as zipf:0.8 or uniform";

fn read_population(section: &Section<'_>) -> Option<Population> {
    match section.chosen(&POPULATION) {
        Some("objects") => {
            let drift = section.parsed("drift", "a drift such as 1% every 100k", Drift::parse);
            Some(Population::Closed { objects: whole(section, "objects")?, drift })
        }
        Some(_) => {
            let set =
                section.parsed("working_set", "a working set such as growing", WorkingSet::parse);
            let working_set = set.unwrap_or(WorkingSet::Growing);
            let recurrence = section.parsed("recurrence", "a share such as 70%", recurrence)?;
            Some(Population::Open { recurrence, working_set })
        }
        None => {
            section.missing("`objects` or `recurrence`", "objects", "100k");
            None
        }
    }
}

/// A count from 1 to what 32 bits hold.
fn whole(section: &Section<'_>, key: &str) -> Option<u32> {
    section.parsed(key, "a count such as 100k", |text| match u32::try_from(count(text)?) {
        Ok(number @ 1..) => Ok(number),
        _ => Err(ParseError::new("a count from 1 to 4294967295", text, 0, text.len())),
    })
}

fn recurrence(text: &str) -> Result<f64, ParseError> {
    match share(text)? {
        share if share < 1.0 => Ok(share),
        _ => Err(ParseError::new("a share below 100%", text, 0, text.len())
            .hint("where nothing new is ever asked for, give objects = \"100k\" instead")),
    }
}

#[cfg(test)]
mod tests;
