//! `[billing]`: what a pool costs and what its requests earn.

use std::time::Duration;

use plimsoll_units::{ParseError, size};

use crate::key::{SectionKeys, key};
use crate::section::Section;
use crate::write::Writer;

/// The keys of `[billing]`.
pub(crate) static BILLING: SectionKeys = SectionKeys::plain(
    "billing",
    &[
        key(
            "unit",
            "hour, minute or second",
            "hour",
            r#""second""#,
            "The unit of time that is charged: every started one.",
        ),
        key(
            "least",
            "duration",
            "one unit",
            r#""60s""#,
            "The least time that is charged for an instance, in started units.",
        ),
        key(
            "charge_from",
            "running or launch",
            "running",
            r#""launch""#,
            "From when an instance is charged: `running` leaves booting free.",
        ),
        key("price", "number", "0", "0.17", "An instance per hour."),
        key("income", "number", "0", "0.000017", "What a served request earns."),
        key("per_request", "number", "0", "0.0000002", "What a request costs, served or not."),
        key("per_gb", "number", "0", "0.09", "Traffic per gigabyte of answers."),
        key("answer", "size", "0B", r#""12kB""#, "The size of an answer."),
        key("balancer", "number", "0", "0.025", "The balancer per hour."),
        key(
            "balancer_per_gb",
            "number",
            "0",
            "0.008",
            "What goes through the balancer, per gigabyte.",
        ),
        key("currency", "text", "$", r#""€""#, "The sign before amounts."),
    ],
);

/// No price is greater.
const GREATEST: f64 = 1e9;

/// What a pool costs and what its requests earn.
#[derive(Debug, Clone, PartialEq)]
pub struct Billing {
    /// The unit of time.
    pub unit: Unit,
    /// The least time that is charged for an instance; without it one unit.
    pub least: Option<Duration>,
    /// Whether an instance is charged from its launch, not from when it is ready.
    pub from_launch: bool,
    /// An instance per hour.
    pub price: f64,
    /// What a served request earns.
    pub income: f64,
    /// What a request costs, served or not.
    pub per_request: f64,
    /// Traffic per gigabyte (10⁹ bytes) of answers.
    pub per_gb: f64,
    /// Bytes of an answer.
    pub answer_bytes: u64,
    /// The balancer per hour.
    pub balancer: f64,
    /// What goes through the balancer, per gigabyte.
    pub balancer_per_gb: f64,
    /// The sign before amounts.
    pub currency: String,
}

/// A unit of time that is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Every started hour.
    Hour,
    /// Every started minute.
    Minute,
    /// Every started second.
    Second,
}

/// The words of `unit`.
const UNITS: [(&str, Unit); 3] =
    [("hour", Unit::Hour), ("minute", Unit::Minute), ("second", Unit::Second)];
/// The words of `charge_from`.
const FROM: [(&str, bool); 2] = [("running", false), ("launch", true)];

impl Billing {
    pub(crate) fn read(section: &Section<'_>) -> Self {
        let price = |key| section.number(key, 0.0, GREATEST).unwrap_or(0.0);
        Self {
            unit: section.word("unit", &UNITS).unwrap_or(Unit::Hour),
            least: section.positive_duration("least"),
            from_launch: section.word("charge_from", &FROM).unwrap_or(false),
            price: price("price"),
            income: price("income"),
            per_request: price("per_request"),
            per_gb: price("per_gb"),
            answer_bytes: section.parsed("answer", "a size such as 12kB", size).unwrap_or(0),
            balancer: price("balancer"),
            balancer_per_gb: price("balancer_per_gb"),
            currency: section
                .parsed("currency", "a sign such as $", sign)
                .unwrap_or_else(|| "$".to_owned()),
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(BILLING.path);
        for (word, _) in UNITS.iter().filter(|(_, unit)| *unit == self.unit) {
            out.text("unit", word);
        }
        if let Some(least) = self.least {
            out.duration("least", least);
        }
        for (word, _) in FROM.iter().filter(|(_, launch)| *launch == self.from_launch) {
            out.text("charge_from", word);
        }
        out.number("price", self.price);
        out.number("income", self.income);
        out.number("per_request", self.per_request);
        out.number("per_gb", self.per_gb);
        out.text("answer", format!("{}B", self.answer_bytes));
        out.number("balancer", self.balancer);
        out.number("balancer_per_gb", self.balancer_per_gb);
        out.text("currency", &self.currency);
    }
}

/// A sign, or a word, of a currency.
fn sign(text: &str) -> Result<String, ParseError> {
    let is_short = (1..=8).contains(&text.chars().count());
    match is_short && !text.chars().any(char::is_control) {
        true => Ok(text.to_owned()),
        false => Err(ParseError::new("a sign of up to 8 characters", text, 0, text.len())),
    }
}
