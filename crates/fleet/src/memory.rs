//! How often the kernel has ended a process of this one's group for want of memory.

use std::path::Path;

/// So often so far, by the group's `memory.events`; 0 where the kernel does not tell. `system` is
/// the root of the file system.
pub(crate) fn killed(system: &Path) -> u64 {
    let groups = std::fs::read_to_string(system.join("proc/self/cgroup")).unwrap_or_default();
    let Some(group) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return 0 };
    let events = system.join("sys/fs/cgroup").join(group).join("memory.events");
    let events = std::fs::read_to_string(events).unwrap_or_default();
    let killed = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
    killed.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}
