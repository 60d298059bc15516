//! The policies that there are, with their parameters.

use crate::terminal::error::Result;
use crate::terminal::pretty;
use plimsoll_elastic::policy::KINDS;
use std::fmt::Write;

/// All kinds, for a person or as JSON.
pub(super) fn render(json: bool) -> Result<String> {
    if json {
        let kinds: Vec<_> = KINDS
            .iter()
            .map(|kind| {
                let parameter = |of: &plimsoll_elastic::policy::Parameter| {
                    serde_json::json!({
                        "name": of.name, "takes": of.takes.words(), "default": of.default,
                        "about": of.about,
                    })
                };
                let parameters: Vec<_> = kind.parameters.iter().map(parameter).collect();
                serde_json::json!({
                    "kind": kind.name, "about": kind.about, "parameters": parameters,
                })
            })
            .collect();
        return pretty(&kinds);
    }
    let mut out = String::new();
    for kind in KINDS {
        let _ = writeln!(out, "{:<12}{}", kind.name, kind.about);
        for of in kind.parameters {
            let _ = writeln!(
                out,
                "  {:<15} {} ({}; default {})",
                of.name,
                of.about,
                of.takes.words(),
                of.default
            );
        }
    }
    Ok(out)
}
