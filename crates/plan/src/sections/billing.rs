//! `[billing]`: what a pool costs and what its requests earn.

use std::time::Duration;

use plimsoll_units::ParseError;
use plimsoll_workload::pool::{BillingUnit, ChargeFrom};

use crate::takes::{Number, Parsed, SIZE, TIME, word};

/// No price is greater.
const GREATEST: f64 = 1e9;
pub(crate) const PRICE: Number = Number(0.0, GREATEST);

section! {
    /// What a pool costs and what its requests earn.
    ["billing"; read, write]
    pub struct Billing {
        /// The unit of time that is charged: every started one.
        unit: BillingUnit { word::<BillingUnit>(), or BillingUnit::Hour, "second" }
        /// The least time that is charged for an instance, in started units.
        least: Option<Duration> { TIME, said "one unit", "60s" }
        /// From when an instance is charged: `running` leaves booting free.
        charge_from: ChargeFrom { word::<ChargeFrom>(), or ChargeFrom::Running, "launch" }
        /// An instance per hour.
        price: f64 { PRICE, or 0.0, "0.17" }
        /// What a served request earns.
        income: f64 { PRICE, or 0.0, "0.000017" }
        /// What a request costs, served or not.
        per_request: f64 { PRICE, or 0.0, "0.0000002" }
        /// Traffic per gigabyte of answers.
        per_gb: f64 { PRICE, or 0.0, "0.09" }
        /// The size of an answer.
        answer_bytes: u64 ["answer"] { SIZE, or 0, "12kB" }
        /// The balancer per hour.
        balancer: f64 { PRICE, or 0.0, "0.025" }
        /// What goes through the balancer, per gigabyte.
        balancer_per_gb: f64 { PRICE, or 0.0, "0.008" }
        /// The sign before amounts.
        currency: String { CURRENCY, or "$".to_owned(), "€" }
    }
}

const CURRENCY: Parsed<String> = Parsed::text("text", "a sign such as $", sign);

/// A sign, or a word, of a currency.
fn sign(text: &str) -> Result<String, ParseError> {
    let is_short = (1..=8).contains(&text.chars().count());
    match is_short && !text.chars().any(char::is_control) {
        true => Ok(text.to_owned()),
        false => Err(ParseError::new("a sign of up to 8 characters", text, 0, text.len())),
    }
}
