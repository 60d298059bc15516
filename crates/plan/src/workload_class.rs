//! `[workload.class.LABEL]`: content classes, each with the laws of its sizes and lives.

use plimsoll_units::{ParseError, share};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::objects::{Class, Fresh, MAX_LABEL_BYTES, SizeLaw};

use crate::key::{Key, SectionKeys};
use crate::section::{Part, Section};
use crate::takes::{DISTRIBUTION, Nested, Parsed, SHARE};
use crate::tree::{Entry, Value};
use crate::write::Writer;

/// The keys of `[workload.class.LABEL]`.
pub(crate) static CLASS: SectionKeys = SectionKeys {
    path: "workload.class.LABEL",
    about: "A content class of a synthetic web workload.",
    groups: &[&[
        key!("share": OWN_SHARE, said "what others leave", "65%",
            "Its share of the objects; classes without one share what is left."),
        key!("size": SIZES, or Class::default().sizes,
            "lognormal+pareto:10KiB,1.3,7%,1.1,133kB..50MB", "How large its objects are."),
        key!("changes": CHANGES, or Class::default().changes, "exp:7d",
            "The period at which an object changes, drawn for each object."),
        key!("variance": PART, or Class::default().variance, "33%",
            "How far changes stray within their period: not at all, or up to anywhere."),
        key!("fresh": FRESH, or Class::default().fresh, "1h",
            "How long a copy is fresh after it left the origin."),
        key!("cachable": PART, or Class::default().cachable, "80%",
            "The share of its objects that a cache may keep."),
    ]],
    shorthand: None,
    choices: &[],
};

const PART: Parsed<f64> = SHARE.such_as("a share such as 80%");
const OWN_SHARE: Parsed<f64> = SHARE
    .only(|text| match share(text)? {
        share if share > 0.0 => Ok(share),
        _ => Err(ParseError::new("a share above 0%", text, 0, text.len())),
    })
    .such_as("a share such as 65%");
const SIZES: Parsed<SizeLaw> =
    Parsed::text("size law", "a law of sizes such as exp:13kB", SizeLaw::parse);
const CHANGES: Parsed<Distribution> = DISTRIBUTION.such_as("a distribution such as exp:7d");
const FRESH: Parsed<Fresh> = Parsed::text(
    "duration or until-change",
    "until-change, or a duration such as 1h",
    Fresh::parse,
);

/// The most classes of a workload.
const MOST: usize = 1000;

impl Part for Vec<Class> {
    const KEYS: &'static [Key] = &[key!("class": Nested("table"), said "one class", "",
        "Content classes: the sections `[workload.class.LABEL]`.")];

    fn read(workload: &Section<'_>) -> Option<Self> {
        read(workload)
    }

    fn write(&self, out: &mut Writer) {
        write(self, out);
    }
}

/// Reads all classes; one of all objects where there is none.
fn read(workload: &Section<'_>) -> Option<Vec<Class>> {
    if !workload.has("class") {
        return Some(vec![Class::default()]);
    }
    let entries = workload.map("class");
    if !(1..=MOST).contains(&entries.len()) {
        let message = format!("expected 1 to {MOST} classes, found {}", entries.len());
        workload.fault("class", message, Some("[workload.class.page]"));
        return None;
    }
    let read: Vec<Option<(Class, bool)>> =
        entries.iter().map(|entry| read_one(workload, entry)).collect();
    let mut classes: Vec<(Class, bool)> = read.into_iter().collect::<Option<_>>()?;
    let given: f64 = classes.iter().filter(|(_, is_given)| *is_given).map(|(c, _)| c.share).sum();
    let without = classes.iter().filter(|(_, is_given)| !is_given).count();
    let left = 1.0 - given;
    // Shares are written to few digits: a millionth is no difference.
    let fits = if without > 0 { left > 1e-6 } else { left.abs() <= 1e-6 };
    if !fits {
        let message =
            format!("expected shares of the classes that come to 100%, found {}%", percent(given));
        let hint = "a class without a share gets what the others leave";
        workload.fault("class", message, Some(hint));
        return None;
    }
    for (class, _) in classes.iter_mut().filter(|(_, is_given)| !is_given) {
        class.share = left / without as f64;
    }
    Some(classes.into_iter().map(|(class, _)| class).collect())
}

/// To a ten-thousandth of a percent, without zeros behind.
fn percent(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A class, and whether its share was given.
fn read_one(workload: &Section<'_>, entry: &Entry) -> Option<(Class, bool)> {
    let reading = workload.reading;
    let Value::Table(table) = &entry.node.value else {
        let hint = format!("[workload.class.{}] and size = \"exp:13kB\"", entry.key);
        reading.wrong_type(&entry.node, "a table of a content class", Some(hint));
        return None;
    };
    let is_label = (1..=MAX_LABEL_BYTES).contains(&entry.key.len());
    if !is_label || entry.key.chars().any(char::is_control) {
        let message = format!("expected a label of 1 to {MAX_LABEL_BYTES} bytes on one line");
        reading.fault(entry.key_place, message, None);
        return None;
    }
    let section = Section::over(reading, table, &CLASS);
    let own = section.get("share", &OWN_SHARE);
    let Class { sizes, changes, variance, fresh, cachable, .. } = Class::default();
    let class = Class {
        label: entry.key.clone(),
        share: own.unwrap_or(0.0),
        sizes: section.get("size", &SIZES).unwrap_or(sizes),
        changes: section.get("changes", &CHANGES).unwrap_or(changes),
        variance: section.get("variance", &PART).unwrap_or(variance),
        fresh: section.get("fresh", &FRESH).unwrap_or(fresh),
        cachable: section.get("cachable", &PART).unwrap_or(cachable),
    };
    // A share that is wrong has been noted: it is none that others must make up for.
    if section.has("share") && own.is_none() { None } else { Some((class, own.is_some())) }
}

fn write(classes: &[Class], out: &mut Writer) {
    for class in classes {
        out.section_of("workload.class", &class.label);
        out.put("share", &OWN_SHARE, &class.share);
        out.put("size", &SIZES, &class.sizes);
        out.put("changes", &CHANGES, &class.changes);
        out.put("variance", &PART, &class.variance);
        out.put("fresh", &FRESH, &class.fresh);
        out.put("cachable", &PART, &class.cachable);
    }
}
