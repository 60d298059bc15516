//! What a person sees: the live view, the table at the end, errors.

pub(crate) mod align;
mod by_label;
mod by_name;
pub(crate) mod error;
pub(crate) mod live;
pub(crate) mod paint;
pub(crate) mod screen;
mod slowest;
pub(crate) mod table;
pub(crate) mod verdict;
mod visible;

use plimsoll_units::secret::hidden;
use serde::Serialize;
use std::io::{self, Write};

pub(crate) use visible::visible;

/// Prints a text to standard output, without what is secret, and without what would steer a
/// terminal. A reader that has gone away (`| head`) is no fault.
pub(crate) fn print(text: &str) -> io::Result<()> {
    print_while_read(text).map(|_| ())
}

/// Prints a text as [`print()`] does. Returns whether its reader is still there.
pub(crate) fn print_while_read(text: &str) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(visible(&hidden(text)).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        result => result.map(|()| true),
    }
}

/// A document, as it is printed.
pub(crate) fn pretty(document: &impl Serialize) -> error::Result<String> {
    let text = serde_json::to_string_pretty(document).map_err(error::Unexpected::new)?;
    Ok(text + "\n")
}

/// Says something beside the result, on standard error.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(&hidden(text)));
}
