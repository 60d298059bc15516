//! Numbers of a heartbeat, which are answered as they came: `7` as `7`, `7.0` as `7.0`, `"7"` as
//! `"7"`.

/// A JSON number, with what it was written as.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Written without a point and an exponent.
    Int(u64),
    /// Written with one.
    Float(f64),
}

impl Number {
    /// Its value.
    #[expect(clippy::cast_precision_loss, reason = "loads are at most 10⁹")]
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Float(x) => x,
        }
    }
}

/// A value and the JSON text (a number or a string) in which it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Echo<T> {
    /// What it means.
    pub value: T,
    /// As Python's `json.dumps` writes what was received: `3128`, `"3128"`.
    pub text: Box<str>,
}
