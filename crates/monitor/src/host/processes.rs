//! Processes: how many there are, and how many of a name, from the folders of `/proc`.
//!
//! Source: proc_pid_comm(5). The kernel keeps the first 15 bytes of a name; arguments are not
//! looked at.

use std::path::Path;

use super::Host;
use crate::collector::CollectError;
use crate::read::is_absent;
use crate::sample::{Group, Samples, gauge};

pub(crate) const GROUP: Group = Group {
    source: "proc/PID",
    series: &[
        gauge("PID", "node_processes_pids", "", "processes"),
        gauge("comm", "plimsoll_processes", "", "processes of a name that was asked for")
            .by(&["name"]),
    ],
};

/// The longest name that the kernel keeps.
const NAME_BYTES: usize = 15;

pub(super) fn read(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    let folder = host.root.join("proc");
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(()),
        Err(source) => return Err(CollectError::File { path: folder, source }),
    };
    let mut all = 0;
    let mut named = vec![0; host.processes.len()];
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_process = name.to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit()));
        if !is_process {
            continue;
        }
        all += 1;
        if !named.is_empty() {
            tally(&entry.path(), &host.processes, &mut named);
        }
    }
    let [pids, by_name] = GROUP.series else { unreachable!("two series") };
    // A root without a process is no host's: nobody would look at it.
    if all > 0 {
        out.push(pids, &[], f64::from(all));
    }
    for (name, count) in host.processes.iter().zip(named) {
        out.push(by_name, &[name], f64::from(count));
    }
    Ok(())
}

/// Counts a process by its name. One that has ended by now is none.
fn tally(process: &Path, wanted: &[String], named: &mut [u32]) {
    let Ok(own) = std::fs::read(process.join("comm")) else { return };
    let own = own.strip_suffix(b"\n").unwrap_or(&own);
    for (name, count) in wanted.iter().zip(named) {
        let name = name.as_bytes();
        if &name[..name.len().min(NAME_BYTES)] == own {
            *count += 1;
        }
    }
}
