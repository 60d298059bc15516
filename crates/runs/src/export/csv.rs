//! Rows of CSV (RFC 4180).

use std::borrow::Cow;
use std::io::Write;

use serde_json::Value;

use crate::error::RunError;

/// Writes one row. Fields that would break it are quoted.
pub(super) fn row<F: AsRef<str>>(
    out: &mut dyn Write,
    fields: impl IntoIterator<Item = F>,
) -> Result<(), RunError> {
    let mut line = String::new();
    for (at, field) in fields.into_iter().enumerate() {
        if at > 0 {
            line.push(',');
        }
        line.push_str(&quoted(field.as_ref()));
    }
    line.push('\n');
    out.write_all(line.as_bytes()).map_err(RunError::Export)
}

/// A value as a field: text as it is, nothing for null, JSON for what has parts.
pub(super) fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", field.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(field)
    }
}
