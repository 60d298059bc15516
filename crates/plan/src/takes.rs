//! What keys take: how a value is read, how it is printed, and how it is described to a person and
//! to an editor.

use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_stats::slo::{Rule, Slo};
use plimsoll_units::{
    ParseError, Words, duration, nearest, rate, share, show_rate_exact, show_share_exact, size,
};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::trace::Moment;
use serde_json::{Value as Json, json};

use crate::describe::{Describe, Meant};
use crate::reading::tree::{Node, Value};
use crate::reading::{Reading, parts};

pub(crate) use crate::each::Each;
use crate::reading::text::{exact, quoted};
pub(crate) use crate::value::Takes;

/// A text with a grammar of its own.
pub(crate) struct Parsed<T: 'static> {
    /// In the words of the manual.
    pub(crate) takes: &'static str,
    /// What is wanted where a value is of another type.
    pub(crate) wanted: &'static str,
    /// Whether it stands in quotes.
    pub(crate) form: Form,
    /// Reads a text.
    pub(crate) parse: fn(&str) -> Result<T, ParseError>,
    /// Writes it, exactly.
    pub(crate) show: fn(&T) -> String,
}

/// How a text with a grammar stands in a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In quotes.
    Text,
    /// In quotes, or a number without: `0.25` is a share.
    TextOrNumber,
    /// A whole number, or in quotes: `"100k"`.
    Count,
}

impl<T> Parsed<T> {
    /// A text that is never a number, and shows as it is displayed.
    pub(crate) const fn text(
        takes: &'static str,
        wanted: &'static str,
        parse: fn(&str) -> Result<T, ParseError>,
    ) -> Self
    where
        T: Display,
    {
        Self { takes, wanted, form: Form::Text, parse, show: T::to_string }
    }

    /// The same with another grammar within this one.
    pub(crate) const fn only(self, parse: fn(&str) -> Result<T, ParseError>) -> Self {
        Self { parse, ..self }
    }

    /// The same with another example of what is wanted.
    pub(crate) const fn such_as(self, wanted: &'static str) -> Self {
        Self { wanted, ..self }
    }
}

/// Any duration.
pub(crate) const DURATION: Parsed<Duration> = Parsed {
    takes: "duration",
    wanted: "a duration such as 10s",
    form: Form::Text,
    parse: duration,
    show: |value| exact(*value),
};
/// A duration above zero.
pub(crate) const TIME: Parsed<Duration> = DURATION.only(|text| match duration(text)? {
    Duration::ZERO => Err(ParseError::new("a duration above zero", text, 0, text.len())),
    positive => Ok(positive),
});
/// From nothing to all.
pub(crate) const SHARE: Parsed<f64> = Parsed {
    takes: "share",
    wanted: "a share such as 5%",
    form: Form::TextOrNumber,
    parse: share,
    show: |value| show_share_exact(*value),
};
/// A rate above zero, requests a second.
pub(crate) const RATE: Parsed<f64> = Parsed {
    takes: "rate",
    wanted: "a rate such as 500/s",
    form: Form::Text,
    parse: |text| match rate(text)? {
        rate if rate > 0.0 => Ok(rate),
        _ => Err(ParseError::new("a rate above zero", text, 0, text.len())),
    },
    show: |value| show_rate_exact(*value),
};
/// Bytes.
pub(crate) const SIZE: Parsed<u64> = Parsed {
    takes: "size",
    wanted: "a size such as 12kB",
    form: Form::TextOrNumber,
    parse: size,
    show: |bytes| format!("{bytes}B"),
};
/// A distribution of times.
pub(crate) const DISTRIBUTION: Parsed<Distribution> =
    Parsed::text("distribution", "a distribution such as const:3m", Distribution::parse);
/// What must hold.
pub(crate) const SLO: Parsed<Slo> = Parsed::text("SLO", "an SLO such as p99<200ms", Slo::parse);
/// When a run ends early.
pub(crate) const STOP_RULE: Parsed<Rule> =
    Parsed::text("stop rule", "a stop rule such as errors>50% for 5s", Rule::stopping);
/// What is looked at while a run goes on.
pub(crate) const RULE: Parsed<Rule> =
    Parsed::text("rule", "a rule such as host.cpu>90% for 10s", Rule::parse);
/// When a cell ends early.
pub(crate) const END_RULE: Parsed<Rule> =
    Parsed::text("rule", "a rule such as availability<99.9%", Rule::ending);

impl<T> Describe for Parsed<T> {
    fn takes(&self) -> String {
        self.takes.to_owned()
    }

    fn schema(&self) -> Json {
        match self.form {
            Form::Text => text_schema(),
            Form::TextOrNumber => json!({"type": ["string", "number"]}),
            Form::Count => json!({"type": ["string", "integer"]}),
        }
    }
}

impl<T> Takes for Parsed<T> {
    type Value = T;

    fn read(&self, reading: &Reading, node: &Node) -> Option<T> {
        reading.parsed(node, self.wanted, self.parse)
    }

    fn write(&self, value: &T) -> String {
        let text = (self.show)(value);
        if self.form == Form::Count { text } else { quoted(&text) }
    }
}

/// The schema of any text.
pub(crate) fn text_schema() -> Json {
    json!({"type": "string"})
}

/// A value of a form of its own.
pub(crate) struct Own<T: 'static> {
    /// In the words of the manual.
    pub(crate) takes: &'static str,
    /// As a JSON Schema.
    pub(crate) schema: fn() -> Json,
    /// Whether it is a table with names of the user's choice.
    pub(crate) is_map: bool,
    /// Reads a value.
    pub(crate) read: fn(&Reading, &Node) -> Option<T>,
    /// Writes it as it stands behind the `=`.
    pub(crate) write: fn(&T) -> String,
}

impl<T> Describe for Own<T> {
    fn takes(&self) -> String {
        self.takes.to_owned()
    }

    fn schema(&self) -> Json {
        (self.schema)()
    }

    fn is_map(&self) -> bool {
        self.is_map
    }
}

impl<T> Takes for Own<T> {
    type Value = T;

    fn read(&self, reading: &Reading, node: &Node) -> Option<T> {
        (self.read)(reading, node)
    }

    fn write(&self, value: &T) -> String {
        (self.write)(value)
    }
}

/// A whole number within a range.
pub(crate) struct Count<T>(pub(crate) RangeInclusive<T>);
/// One of up to 64 bits.
pub(crate) type Whole = Count<u64>;
/// One of up to 32 bits.
pub(crate) type Small = Count<u32>;

impl<T: Copy + Into<u64> + TryFrom<u64> + Sync> Describe for Count<T> {
    fn takes(&self) -> String {
        "count".to_owned()
    }

    fn schema(&self) -> Json {
        let (least, most) = (*self.0.start(), *self.0.end());
        let (least, most): (u64, u64) = (least.into(), most.into());
        let mut schema = json!({"type": ["integer", "string"], "minimum": least});
        // What is beyond TOML's integers stands in quotes.
        if i64::try_from(most).is_ok() {
            schema["maximum"] = json!(most);
        }
        schema
    }
}

impl<T: Copy + Into<u64> + TryFrom<u64> + Sync> Takes for Count<T> {
    type Value = T;

    fn read(&self, reading: &Reading, node: &Node) -> Option<T> {
        let range = (*self.0.start()).into()..=(*self.0.end()).into();
        reading.whole(node, range).and_then(|number| T::try_from(number).ok())
    }

    fn write(&self, value: &T) -> String {
        let number: u64 = (*value).into();
        let fits = i64::try_from(number).is_ok();
        if fits { number.to_string() } else { quoted(&number.to_string()) }
    }
}

/// A number, from the one to the other.
pub(crate) struct Number(pub(crate) f64, pub(crate) f64);
/// A finite number above zero.
pub(crate) const FACTOR: Number = Number(f64::MIN_POSITIVE, f64::MAX);

impl Describe for Number {
    fn takes(&self) -> String {
        "number".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": ["number", "string"], "minimum": self.0, "maximum": self.1})
    }
}

impl Takes for Number {
    type Value = f64;

    fn read(&self, reading: &Reading, node: &Node) -> Option<f64> {
        reading.number(node, self.0, self.1)
    }

    fn write(&self, value: &f64) -> String {
        format!("{value:?}")
    }
}

/// `true` or `false`.
pub(crate) struct Switch;

impl Describe for Switch {
    fn takes(&self) -> String {
        "switch".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "boolean"})
    }
}

impl Takes for Switch {
    type Value = bool;

    fn read(&self, reading: &Reading, node: &Node) -> Option<bool> {
        match &node.value {
            Value::Switch(on) => return Some(*on),
            Value::Typed(text) if text == "true" => return Some(true),
            Value::Typed(text) if text == "false" => return Some(false),
            Value::Text(text) if text == "true" || text == "false" => {
                let hint = Some("leave the quotes away".into());
                reading.wrong_type(node, "true or false", hint);
            }
            _ => reading.wrong_type(node, "true or false", None),
        }
        None
    }

    fn write(&self, value: &bool) -> String {
        value.to_string()
    }
}

/// One of a few words.
pub(crate) struct Word<T> {
    /// Whether what is wanted is told as the manual does: `gap or half`.
    is_told_as_choice: bool,
    of: PhantomData<fn() -> T>,
}

/// One of a few words.
pub(crate) const fn word<T: Words>() -> Word<T> {
    Word { is_told_as_choice: false, of: PhantomData }
}

/// One of two words.
pub(crate) const fn either<T: Words>() -> Word<T> {
    Word { is_told_as_choice: true, of: PhantomData }
}

impl<T: Words> Describe for Word<T> {
    fn takes(&self) -> String {
        let words: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
        choice_of(&words)
    }

    fn schema(&self) -> Json {
        let mut words: Vec<Json> = T::WORDS.iter().map(|(word, _)| json!(word)).collect();
        // `http = 2` says what it means.
        words.extend(T::WORDS.iter().filter_map(|(word, _)| word.parse().ok().map(Json::Number)));
        json!({"enum": words})
    }
}

/// `a, b or c`.
fn choice_of(words: &[&str]) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => words.join(""),
    }
}

impl<T: Words> Takes for Word<T> {
    type Value = T;

    fn read(&self, reading: &Reading, node: &Node) -> Option<T> {
        if self.is_told_as_choice {
            let wrong = |text: &str| ParseError::new(self.takes(), text, 0, text.len());
            let parse = |text: &str| T::of_word(text).ok_or_else(|| wrong(text));
            return reading.parsed(node, &self.takes(), parse);
        }
        let text = match &node.value {
            Value::Whole(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            _ => reading.text(node)?.to_owned(),
        };
        if let Some(value) = T::of_word(&text) {
            return Some(value);
        }
        let names: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
        let near = nearest(&text, names.iter().copied());
        let hint = near.map(|near| format!("did you mean {near}?"));
        reading.wrong_type(node, &format!("one of {}", names.join(", ")), hint);
        None
    }

    fn write(&self, value: &T) -> String {
        quoted(value.word())
    }
}

/// A text on one line; the words of the manual for it.
pub(crate) struct Line(pub(crate) &'static str);

impl Describe for Line {
    fn takes(&self) -> String {
        self.0.to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "minLength": 1})
    }
}

impl Takes for Line {
    type Value = String;

    fn read(&self, reading: &Reading, node: &Node) -> Option<String> {
        reading.line(node).map(str::to_owned)
    }

    fn write(&self, value: &String) -> String {
        quoted(value)
    }
}

/// A file: of a plan's key and its levels from the plan's folder, of a flag from the working
/// folder, where `-` is standard input.
pub(crate) struct File;

impl Describe for File {
    fn takes(&self) -> String {
        "file".to_owned()
    }

    fn schema(&self) -> Json {
        Line("file").schema()
    }
}

impl Takes for File {
    type Value = PathBuf;

    fn read(&self, reading: &Reading, node: &Node) -> Option<PathBuf> {
        let name = reading.line(node)?;
        let is_from_here = reading.is_from_here(node.place);
        Some(match name {
            "-" if is_from_here => PathBuf::from("/dev/stdin"),
            _ if is_from_here => PathBuf::from(name),
            _ => reading.folder().join(name),
        })
    }

    fn write(&self, value: &PathBuf) -> String {
        quoted(&Path::display(value).to_string())
    }
}

/// A place in a trace: text, or one of TOML's dates.
pub(crate) const MOMENT: Own<Moment> = Own {
    takes: "moment",
    schema: text_schema,
    is_map: false,
    read: read_moment,
    write: write_moment,
};

fn read_moment(reading: &Reading, node: &Node) -> Option<Moment> {
    let Value::Moment(text) = &node.value else {
        let wanted = "a moment such as 5h or 1995-09-06 05:00";
        return reading.parsed(node, wanted, Moment::parse);
    };
    let wrong = |error: ParseError| reading.wrong_type(node, &error.wanted, None);
    Moment::parse(text).map_err(wrong).ok()
}

fn write_moment(value: &Moment) -> String {
    quoted(&value.to_string())
}

/// A value, or a word for there being none.
pub(crate) struct OrWord<T>(pub(crate) T, pub(crate) &'static str);

impl<T: Describe> Describe for OrWord<T> {
    fn takes(&self) -> String {
        format!("{} or {}", self.0.takes(), self.1)
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [{"const": self.1}, self.0.schema()]})
    }
}

impl<T: Takes> Takes for OrWord<T> {
    type Value = Option<T::Value>;

    fn read(&self, reading: &Reading, node: &Node) -> Option<Self::Value> {
        match &node.value {
            Value::Text(text) | Value::Typed(text) if text == self.1 => Some(None),
            _ => self.0.read(reading, node).map(Some),
        }
    }

    fn write(&self, value: &Self::Value) -> String {
        value.as_ref().map_or_else(|| quoted(self.1), |value| self.0.write(value))
    }
}

/// A list of values, or a single one; a flag may give several, with commas. The words of the manual
/// for it.
pub(crate) struct List<T>(pub(crate) T, pub(crate) &'static str);

impl<T: Describe> Describe for List<T> {
    fn takes(&self) -> String {
        self.1.to_owned()
    }

    fn schema(&self) -> Json {
        let one = self.0.schema();
        json!({"anyOf": [one, {"type": "array", "items": one}]})
    }

    fn meant(&self) -> Option<Meant> {
        self.0.meant()
    }

    fn is_list(&self) -> bool {
        true
    }
}

impl<T: Takes> Takes for List<T> {
    type Value = Vec<T::Value>;

    /// What of it can be read.
    fn read(&self, reading: &Reading, node: &Node) -> Option<Self::Value> {
        Some(parts(node).iter().filter_map(|node| self.0.read(reading, node)).collect())
    }

    fn write(&self, values: &Self::Value) -> String {
        let items: Vec<_> = values.iter().map(|value| self.0.write(value)).collect();
        format!("[{}]", items.join(", "))
    }
}

/// A section: its keys are in a list of their own.
pub(crate) struct Nested(pub(crate) &'static str);

impl Describe for Nested {
    fn takes(&self) -> String {
        self.0.to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "object"})
    }
}

/// A text that a higher floor reads, which tells what is wrong with it. The words of the manual for
/// it, and which names it may be, where it is to be one.
pub(crate) struct Known(pub(crate) &'static str, pub(crate) Option<Meant>);

impl Describe for Known {
    fn takes(&self) -> String {
        self.0.to_owned()
    }

    fn schema(&self) -> Json {
        // A share, or a size, may be a number.
        json!({"type": ["string", "number"], "minLength": 1})
    }

    fn meant(&self) -> Option<Meant> {
        self.1
    }
}

impl Takes for Known {
    type Value = String;

    fn read(&self, reading: &Reading, node: &Node) -> Option<String> {
        let wanted = format!("text: {}", self.0);
        reading.parsed(node, &wanted, |text| {
            if text.is_empty() || text.chars().any(char::is_control) {
                return Err(ParseError::new(format!("a {}", self.0), text, 0, text.len()));
            }
            if let (Some(meant), Some(known)) = (self.1, reading.vocabulary) {
                known.check(meant, text)?;
            }
            Ok(text.to_owned())
        })
    }

    fn write(&self, value: &String) -> String {
        Line(self.0).write(value)
    }
}
