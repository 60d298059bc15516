//! `[workload]`: a synthetic web workload, and `[workload.class.LABEL]` its content classes.
//!
//! What the values mean, with their formulas, is said where they are drawn:
//! [`plimsoll_workload::objects`].

use plimsoll_units::{ParseError, count, share};
use plimsoll_workload::objects::{
    self, Class, Clients, Drift, HotSet, Popularity, Population, WorkingSet, WorkloadError,
};

use crate::key::Choice;
use crate::section::{Part, Section};
use crate::sections::workload_class::{self, CLASSES};
use crate::takes::{Form, Parsed, SHARE};
use crate::write::Writer;

/// The ways to say which objects there are.
static POPULATION: Choice = Choice(&[("objects", &["drift"]), ("recurrence", &["working_set"])]);

section! {
    /// A synthetic web workload: which objects there are, and how popular each is.
    ["workload", choices &[&POPULATION]]
    pub struct Workload {
        /// Which objects there are.
        population: Population { part }
        /// How requests fall on the ranks of the working set: `zipf:EXPONENT` or `uniform`.
        popularity: Popularity { POPULARITY, or usual().popularity, "zipf:0.9" }
        /// The first so large a share of the working set gets this share of its requests.
        hot_set: Option<HotSet> { HOT_SET, said "none", "1%,10%" }
        /// How many clients ask.
        clients: u32 { COUNT, or usual().clients.count, "1000" }
        /// How requests fall on clients: `zipf:EXPONENT` or `uniform`.
        client_popularity: Popularity { POPULARITY, or usual().clients.popularity, "zipf:0.5" }
        /// Content classes: the sections `[workload.class.LABEL]`.
        classes: Vec<Class> ["class"] { CLASSES, or vec![Class::default()], said "one class", "" }
    }
}

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

impl Workload {
    /// Reads the section.
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        let workload = Self::read_keys(section)?;
        let error = match workload.objects().check() {
            Ok(()) => return Some(workload),
            Err(error) => error,
        };
        let key = match error {
            WorkloadError::DriftObjects { .. } | WorkloadError::DriftSpeed { .. } => "drift",
            _ => "class",
        };
        section.fault(key, error.to_string(), None);
        None
    }

    /// Writes the section, and that of each class.
    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(Self::SECTION.path);
        self.write_keys(out, &["class"]);
        workload_class::write(&self.classes, out);
    }

    /// Its description, which has been checked.
    #[must_use]
    pub fn objects(&self) -> objects::Workload {
        objects::Workload {
            population: self.population,
            popularity: self.popularity,
            hot_set: self.hot_set,
            classes: self.classes.clone(),
            clients: Clients { count: self.clients, popularity: self.client_popularity },
        }
    }
}

section! {
    [part]
    #[derive(Default)]
    pub(crate) struct PopulationKeys {
        /// A closed population of so many objects: all that may be asked for.
        objects: Option<u32> { COUNT, "100k" }
        /// So large a share of them change their rank, after each so many requests.
        drift: Option<Drift> { DRIFT, said "none", "1% every 100k" }
        /// An open population: this share of requests goes to objects seen before, the others to
        /// new ones.
        recurrence: Option<f64> { RECURRENCE, "68.75%" }
        /// Which of those seen before: all (`growing`), the first so many (`frozen:100k`) or the
        /// newest (`drifting:100k`).
        working_set: Option<WorkingSet> { WORKING_SET, usually WorkingSet::Growing,
            "drifting:100k" }
    }
}

impl Part for Population {
    type Keys = PopulationKeys;

    fn of(keys: PopulationKeys, section: &Section<'_>) -> Option<Self> {
        match section.chosen(&POPULATION) {
            Some("objects") => Some(Self::Closed { objects: keys.objects?, drift: keys.drift }),
            Some(_) => {
                let working_set = keys.working_set.unwrap_or(WorkingSet::Growing);
                Some(Self::Open { recurrence: keys.recurrence?, working_set })
            }
            None => {
                section.missing("`objects` or `recurrence`", "objects", "100k");
                None
            }
        }
    }

    fn keys(&self) -> PopulationKeys {
        let none = PopulationKeys::default();
        match *self {
            Self::Closed { objects, drift } => {
                PopulationKeys { objects: Some(objects), drift, ..none }
            }
            Self::Open { recurrence, working_set } => PopulationKeys {
                recurrence: Some(recurrence),
                working_set: Some(working_set),
                ..none
            },
        }
    }
}

#[cfg(test)]
mod tests;
