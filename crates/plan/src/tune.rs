//! `[tune]`: which parameters of a policy are looked for, and what makes some of them better.

use plimsoll_units::ParseError;
use serde_json::{Value as Json, json};

use crate::describe::{Describe, Meant};
use crate::key::{Choice, Key};
use crate::reading::{Reading, parts};
use crate::section::{Part, Section};
use crate::takes::{Count, Known, Line, Takes, Whole};
use crate::tree::Node;
use crate::write::Writer;

section! {
    /// Which parameters of a policy are looked for, and what makes some of them better.
    ["tune", choices &[&OBJECTIVE]; read, write, default]
    pub struct Tune {
        /// The policy of the plan whose parameters are looked for.
        policy: Option<String> { Line("label"), said "the first", "calm" }
        /// What is made small, or great.
        objective: Objective { part }
        /// What has to be kept.
        subject_to: Option<String> { Known(Meant::Bounds, "bounds"), "lost<0.1%,p99<400ms" }
        /// How many fresh replications tell the best.
        replications: u64 { REPLICATIONS, or 10, "20" }
        /// The parameters that are varied.
        vary: Vec<Vary> { part }
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

const FIGURE: Known = Known(Meant::Figure, "figure");

impl Part for Objective {
    const KEYS: &'static [Key] = &[
        key!("minimise": FIGURE, or COST.to_owned(), "hours",
            "Makes this small: a figure of the simulation, such as cost, lost or p99."),
        key!("maximise": FIGURE, "net", "Makes this great."),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let Some(key) = section.chosen(&OBJECTIVE) else { return Some(Self::default()) };
        Some(Self { figure: section.get(key, &FIGURE)?, is_great: key == "maximise" })
    }

    fn write(&self, out: &mut Writer) {
        let key = if self.is_great { "maximise" } else { "minimise" };
        out.put(key, &FIGURE, &self.figure);
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
const VALUES: Values = Values;

/// The values of a parameter: a list of them, or a range with its step, `60..90/5`.
struct Values;

impl Describe for Values {
    fn takes(&self) -> String {
        "table".to_owned()
    }

    fn schema(&self) -> Json {
        let one = json!({"type": ["string", "number", "boolean"]});
        let values = json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]});
        json!({"type": "object", "additionalProperties": values})
    }

    fn is_map(&self) -> bool {
        true
    }
}

impl Takes for Values {
    type Of = Vec<String>;

    fn read(&self, reading: &Reading, node: &Node) -> Option<Vec<String>> {
        let mut values = Vec::new();
        for node in parts(node) {
            let text = reading.level(&node)?;
            match value_or_range(&text) {
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

    fn write(&self, values: &Vec<String>) -> String {
        let items: Vec<_> = values.iter().map(|value| crate::text::quoted(value)).collect();
        format!("[{}]", items.join(", "))
    }
}

impl Part for Vec<Vary> {
    const KEYS: &'static [Key] = &[key!("vary": VALUES, said "what is usual for the policy",
        r#"{ upper = "60..90/5", lower = [20, 30] }"#,
        "Parameters with the values that are tried: a list, or a range with its step.")];

    fn read(section: &Section<'_>) -> Option<Self> {
        let entries = section.map("vary").iter();
        entries
            .map(|entry| {
                let values = VALUES.read(section.reading, &entry.node)?;
                Some(Vary { name: entry.key.clone(), values })
            })
            .collect()
    }

    fn write(&self, out: &mut Writer) {
        if !self.is_empty() {
            out.inline("vary", |out| {
                self.iter().for_each(|vary| out.put(&vary.name, &VALUES, &vary.values));
            });
        }
    }
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
