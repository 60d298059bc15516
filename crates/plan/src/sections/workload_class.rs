//! `[workload.class.LABEL]`: content classes, each with the laws of its sizes and lives.

use plimsoll_units::{ParseError, share};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::objects::{Class, Fresh, MAX_LABEL_BYTES, SizeLaw};
use serde_json::json;

use crate::reading::Reading;
use crate::reading::tree::{Entry, Node, Value};
use crate::section::Section;
use crate::takes::{DISTRIBUTION, Own, Parsed, SHARE};
use crate::write::Writer;

section! {
    /// A content class of a synthetic web workload.
    ["workload.class.LABEL"]
    pub(crate) struct ClassKeys {
        /// Its share of the objects; classes without one share what is left.
        share: Option<f64> { OWN_SHARE, said "what others leave", "65%" }
        /// How large its objects are.
        size: SizeLaw { SIZES, or Class::default().sizes,
            "lognormal+pareto:10KiB,1.3,7%,1.1,133kB..50MB" }
        /// The period at which an object changes, drawn for each object.
        changes: Distribution { CHANGES, or Class::default().changes, "exp:7d" }
        /// How far changes stray within their period: not at all, or up to anywhere.
        variance: f64 { PART, or Class::default().variance, "33%" }
        /// How long a copy is fresh after it left the origin.
        fresh: Fresh { FRESH, or Class::default().fresh, "1h" }
        /// The share of its objects that a cache may keep.
        cachable: f64 { PART, or Class::default().cachable, "80%" }
    }
}

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

/// The classes of a workload, each a table under its label.
pub(crate) const CLASSES: Own<Vec<Class>> = Own {
    takes: "table",
    schema: || json!({"type": "object"}),
    is_map: false,
    read: read_classes,
    write: |classes| write_classes(classes),
};

fn read_classes(reading: &Reading, node: &Node) -> Option<Vec<Class>> {
    let entries = reading.map(node);
    if !(1..=MOST).contains(&entries.len()) {
        let message = format!("expected 1 to {MOST} classes, found {}", entries.len());
        let hint = Some("[workload.class.page]".to_owned());
        reading.fault(node.place, message, hint);
        return None;
    }
    classes(reading, node, entries)
}

/// Not behind a `=`: each is a section of its own.
fn write_classes(classes: &[Class]) -> String {
    let mut out = Writer::default();
    write(classes, &mut out);
    out.finish()
}

/// All classes, with the shares that are left to those that say none.
fn classes(reading: &Reading, node: &Node, entries: &[Entry]) -> Option<Vec<Class>> {
    let read: Vec<Option<(Class, bool)>> =
        entries.iter().map(|entry| read_one(reading, entry)).collect();
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
        reading.fault(node.place, message, Some(hint.to_owned()));
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
fn read_one(reading: &Reading, entry: &Entry) -> Option<(Class, bool)> {
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
    let section = Section::over(reading, table, ClassKeys::SECTION);
    let keys = ClassKeys::read_keys(&section)?;
    let class = Class {
        label: entry.key.clone(),
        share: keys.share.unwrap_or(0.0),
        sizes: keys.size,
        changes: keys.changes,
        variance: keys.variance,
        fresh: keys.fresh,
        cachable: keys.cachable,
    };
    // A share that is wrong has been noted: it is none that others must make up for.
    let is_wrong = section.has("share") && keys.share.is_none();
    (!is_wrong).then_some((class, keys.share.is_some()))
}

/// Writes the section of each class.
pub(crate) fn write(classes: &[Class], out: &mut Writer) {
    for class in classes {
        out.section_of("workload.class", &class.label);
        let Class { sizes, changes, variance, fresh, cachable, .. } = class.clone();
        let share = Some(class.share);
        ClassKeys { share, size: sizes, changes, variance, fresh, cachable }.write_keys(out, &[]);
    }
}
