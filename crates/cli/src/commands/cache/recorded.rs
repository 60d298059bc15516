//! The plan that says what was asked, of a comparison of policies and sizes on one trace.

use crate::cache_args::CacheSimulate;
use anyhow::{Context, Result};
use plimsoll_plan::{Cache, CacheComparison, CacheTrace};
use std::path::Path;
use std::time::Duration;

/// The comparison as a plan. A copy that is kept elsewhere finds the trace as well.
pub(super) fn plan_text(args: &CacheSimulate) -> Result<String> {
    let file = args.trace.as_deref().unwrap_or(Path::new(""));
    let asked = CacheComparison {
        name: None,
        trace: CacheTrace {
            file: std::path::absolute(file).with_context(|| format!("find {}", file.display()))?,
            format: args.reading.format.clone(),
            columns: args.reading.columns.clone(),
            changes: None,
            fresh: Duration::ZERO,
        },
        cache: Cache {
            policy: args.policy.clone(),
            size: args.size.clone(),
            admit: args.admit.clone(),
            skip: args.skip.clone(),
            bound: args.bound,
            by_size: args.by_size,
        },
    };
    Ok(asked.to_toml())
}
