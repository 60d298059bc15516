//! Colours, only where a terminal shows them and nobody asked for none (`NO_COLOR`).

use crate::place::environment;
use std::io::IsTerminal;

/// The codes of the colours, and what ends each.
const CODES: [&str; 5] = ["1", "2", "32", "31;1", "33"];
const END: &str = "\x1b[0m";

/// What a text begins with, where it is the begin or the end of a colour of ours.
pub(crate) fn at_begin(text: &str) -> Option<&str> {
    let code = text.strip_prefix("\x1b[")?;
    let (code, _) = code.split_once('m')?;
    let is_ours = code == "0" || CODES.contains(&code);
    is_ours.then(|| &text[..code.len() + 3])
}

/// Paints words, or leaves them as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(bool);

impl Paint {
    /// For standard output.
    pub(crate) fn stdout() -> Self {
        Self::on(std::io::stdout().is_terminal())
    }

    /// For standard error.
    pub(crate) fn stderr() -> Self {
        Self::on(std::io::stderr().is_terminal())
    }

    fn on(terminal: bool) -> Self {
        let refused = environment("NO_COLOR").is_some_and(|value| !value.is_empty())
            || environment("TERM").is_some_and(|term| term == "dumb");
        Self(terminal && !refused)
    }

    #[cfg(test)]
    pub(crate) fn always() -> Self {
        Self(true)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}{END}") } else { text.to_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap(CODES[0], text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap(CODES[1], text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.wrap(CODES[2], text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap(CODES[3], text)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.wrap(CODES[4], text)
    }
}
