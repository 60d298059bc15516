//! What the control groups that this process is in let it have (the kernel's
//! `admin-guide/cgroup-v1/memory.rst`, `scheduler/sched-bwc.rst` and `admin-guide/cgroup-v2.rst`).

use super::Facts;

/// From here on a limit is none: version 1 has no word for that.
const NO_LIMIT: u64 = 1 << 60;

/// The folders of a controller's group that this process is in, and of the groups around it, below
/// the root; and whether they are of version 2.
fn groups(facts: &Facts<'_>, controller: &str) -> Option<(Vec<String>, bool)> {
    let text = facts.text("proc/self/cgroup")?;
    let mut lines = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, parts.next()?))
    });
    let of_controller =
        lines.clone().find(|(controllers, _)| controllers.split(',').any(|one| one == controller));
    let (base, path, is_unified) = match of_controller {
        Some((_, path)) => (format!("sys/fs/cgroup/{controller}"), path, false),
        None => ("sys/fs/cgroup".to_owned(), lines.find(|(of, _)| of.is_empty())?.1, true),
    };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let folder = |depth: usize| {
        let inner: Vec<&str> =
            std::iter::once(base.as_str()).chain(parts[..depth].iter().copied()).collect();
        inner.join("/")
    };
    Some(((0..=parts.len()).rev().map(folder).collect(), is_unified))
}

/// How much memory is left within the limits of these groups, bytes; `None` without a limit.
pub(super) fn memory_left(facts: &Facts<'_>) -> Option<u64> {
    let (folders, is_unified) = groups(facts, "memory")?;
    let (limit, used) = match is_unified {
        true => ("memory.max", "memory.current"),
        false => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    };
    let number = |path: String| facts.text(&path)?.trim().parse::<u64>().ok();
    let left = |folder: &String| {
        let limit = number(format!("{folder}/{limit}")).filter(|limit| *limit < NO_LIMIT)?;
        Some(limit.saturating_sub(number(format!("{folder}/{used}")).unwrap_or(0)))
    };
    folders.iter().filter_map(left).min()
}

/// How many processors' time these groups may take; `None` without a quota.
pub(super) fn processors(facts: &Facts<'_>) -> Option<f64> {
    let (folders, is_unified) = groups(facts, "cpu")?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number > 0.0);
    let of = |folder: &String| match is_unified {
        true => {
            let text = facts.text(&format!("{folder}/cpu.max"))?;
            let (quota, period) = text.trim().split_once(' ')?;
            Some(number(quota)? / number(period)?)
        }
        false => {
            let text = |name: &str| facts.text(&format!("{folder}/cpu.{name}"));
            Some(number(&text("cfs_quota_us")?)? / number(&text("cfs_period_us")?)?)
        }
    };
    folders.iter().filter_map(of).reduce(f64::min)
}
