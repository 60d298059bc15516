//! `[tune]`: which parameters of a policy are looked for, and what makes some of them better.

use plimsoll_units::ParseError;
use serde_json::json;

use crate::describe::Meant;
use crate::flag::Group;
use crate::key::Choice;
use crate::reading::tree::{Entry, Node};
use crate::reading::{Reading, parts};
use crate::section::{Part, Section};
use crate::takes::{Count, Known, Line, Own, Whole};
use crate::write::Writer;

section! {
    /// Which parameters of a policy are looked for, and what makes some of them better.
    ["tune", choices &[&OBJECTIVE]; read, default]
    pub struct Tune {
        /// The policy of the plan whose parameters are looked for.
        policy: Option<String> { Line("label"), said "the first", "calm" }
            flag [Group::Tune.flag("policy", "LABEL")
                .says("The policy of the plan whose parameters are looked for; the first \
                    otherwise")]
        /// What is made small, or great.
        objective: Objective { part }
        /// What has to be kept.
        subject_to: Option<String> { Known("bounds", None), "lost<0.1%,p99<400ms" }
            flag [Group::Tune.flag("subject-to", "BOUNDS")
                .says("What has to be kept, such as 'lost<0.1%,p99<400ms'")]
        /// How many fresh replications tell the best.
        replications: u64 { REPLICATIONS, or 10, "20" }
            flag [Group::Tune.flag("replications", "N")
                .says("Fresh replications by which the best is told; 10 otherwise")]
        /// Parameters with the values that are tried: a list, or a range with its step.
        vary: Vec<Vary> { VARIED, or Vec::new(), said "what is usual for the policy",
            r#"{ upper = "60..90/5", lower = [20, 30] }"# }
    }
}

impl Tune {
    /// Writes the section.
    pub(crate) fn write(&self, out: &mut Writer) {
        let left_out: &[&str] = if self.vary.is_empty() { &["vary"] } else { &[] };
        out.section(Self::SECTION.path);
        self.write_keys(out, left_out);
    }
}

/// A figure that is made small, or great.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objective {
    /// Its name, or a short word for it.
    pub figure: String,
    /// Whether it is made great.
    pub is_great: bool,
}

impl Default for Objective {
    fn default() -> Self {
        Self { figure: COST.to_owned(), is_great: false }
    }
}

/// What is made small where the plan does not say.
const COST: &str = "cost";

static OBJECTIVE: Choice = Choice(&[("minimise", &[]), ("maximise", &[])]);

const FIGURE: Known = Known("figure", Some(Meant::Figure));

section! {
    [part]
    #[derive(Default)]
    pub(crate) struct ObjectiveKeys {
        /// Makes this small: a figure of the simulation, such as cost, lost or p99.
        minimise: Option<String> { FIGURE, usually COST.to_owned(), "hours" }
            flag [Group::Tune.flag("minimise", "FIGURE")
                .says("Make this small: cost, hours, lost, mean, p50, p90, p95, p99, p999, \
                    violated")]
        /// Makes this great.
        maximise: Option<String> { FIGURE, "net" }
            flag [Group::Tune.flag("maximise", "FIGURE").says("Make this great: net")]
    }
}

impl Part for Objective {
    type Keys = ObjectiveKeys;

    fn of(keys: ObjectiveKeys, section: &Section<'_>) -> Option<Self> {
        match section.chosen(&OBJECTIVE) {
            None => Some(Self::default()),
            Some("maximise") => Some(Self { figure: keys.maximise?, is_great: true }),
            Some(_) => Some(Self { figure: keys.minimise?, is_great: false }),
        }
    }

    fn keys(&self) -> ObjectiveKeys {
        let figure = Some(self.figure.clone());
        let (maximise, minimise) = if self.is_great { (figure, None) } else { (None, figure) };
        ObjectiveKeys { minimise, maximise }
    }
}

/// A parameter and the values that are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vary {
    /// The parameter's name.
    pub name: String,
    /// Its values as text; at least one.
    pub values: Vec<String>,
}

/// The most values of one parameter.
const MOST_VALUES: usize = 1000;
/// Parameters, each with its values: a list of them, or a range with its step, `60..90/5`.
const VARIED: Own<Vec<Vary>> = Own {
    takes: "table",
    schema: || {
        let one = json!({"type": ["string", "number", "boolean"]});
        let values = json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]});
        json!({"type": "object", "additionalProperties": values})
    },
    is_map: true,
    read: read_varied,
    write: |varied| write_varied(varied),
};

fn read_varied(reading: &Reading, node: &Node) -> Option<Vec<Vary>> {
    let vary = |entry: &Entry| {
        let values = values(reading, &entry.node)?;
        Some(Vary { name: entry.key.clone(), values })
    };
    reading.map(node).iter().map(vary).collect()
}

fn write_varied(varied: &[Vary]) -> String {
    Writer::table(|out| {
        varied.iter().for_each(|vary| out.list(&vary.name, vary.values.iter().cloned()));
    })
}

/// The values of a parameter.
fn values(reading: &Reading, node: &Node) -> Option<Vec<String>> {
    let mut values = Vec::new();
    for node in parts(node) {
        match value_or_range(&reading.level(&node)?) {
            Ok(several) => values.extend(several),
            Err(error) => {
                reading.parse_fault(&node, &error);
                return None;
            }
        }
    }
    if values.is_empty() || values.len() > MOST_VALUES {
        reading.wrong_type(node, &format!("from 1 to {MOST_VALUES} values"), None);
        return None;
    }
    Some(values)
}

const REPLICATIONS: Whole = Count(2..=100_000_u64);

/// A value, or those of a range: `60..90/5`.
fn value_or_range(text: &str) -> Result<Vec<String>, ParseError> {
    let wrong = |wanted: &str| ParseError::new(wanted, text, 0, text.len());
    let range = text.split_once("..").and_then(|(from, rest)| {
        let (to, step) = rest.split_once('/')?;
        let [from, to, step] = [from, to, step].map(|number| number.trim().parse::<f64>().ok());
        Some((from?, to?, step?))
    });
    match range {
        Some((from, to, step)) if step > 0.0 && to >= from => {
            let last = ((to - from) / step + 1e-9).floor();
            if last >= MOST_VALUES as f64 {
                return Err(wrong("at most 1000 values"));
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few")]
            let last = last as u32;
            let value = |k: u32| from + f64::from(k) * step;
            Ok((0..=last).map(|k| ((1e9 * value(k)).round() / 1e9).to_string()).collect())
        }
        Some(_) => Err(wrong("a range with the lesser number first, and a step above zero")),
        None if text.is_empty() => Err(wrong("a value, or a range such as 60..90/5")),
        None => Ok(vec![text.to_owned()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_listed_or_ranged() {
        assert_eq!(value_or_range("60").unwrap(), ["60"]);
        assert_eq!(value_or_range("60..75/5").unwrap(), ["60", "65", "70", "75"]);
        assert_eq!(value_or_range("0..0.3/0.1").unwrap(), ["0", "0.1", "0.2", "0.3"]);
        for wrong in ["", "9..3/1", "1..9/0", "0..9/0.001"] {
            assert!(value_or_range(wrong).is_err(), "{wrong}");
        }
    }
}
