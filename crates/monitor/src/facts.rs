//! What a person must know of a host to judge a figure measured on it, or to repeat the run.
//!
//! Each fact is a name and a text. A fact whose source is missing on this host is left out: "no
//! data" is not an error, and an absent line says more than a guess.
//!
//! # Sources
//!
//! proc(5) and its pages, sched(7), proc_sys_kernel(5), proc_sys_net(5), the kernel's
//! `Documentation/admin-guide/pm/cpufreq.rst`.

use std::path::Path;

use crate::memory;
use crate::text_of;

/// The facts of the host whose `proc` and `sys` lie below `root`, in a fixed order.
///
/// | name | text |
/// | --- | --- |
/// | `cpu_model` | the processor's name |
/// | `cores` | logical processors that are online |
/// | `cores_allowed` | those this process may run on, as a list such as `0-1` |
/// | `memory_bytes` | usable memory |
/// | `kernel` | release of the kernel |
/// | `hypervisor` | `yes` or `no`: whether the processor says it is virtual |
/// | `clocksource` | what the kernel tells the time with |
/// | `governor` | how the first core's frequency is chosen |
/// | `congestion_control` | TCP's algorithm |
/// | `autogroup` | `on` or `off`: whether the scheduler shares time among sessions first |
/// | `real_time_priority` | 1 to 99, where this process has a real-time policy |
/// | `nofile_soft`, `nofile_hard` | descriptors this process may hold, and may raise that to |
/// | `port_range` | local ports, as `first-last` |
#[must_use]
pub fn facts(root: &Path) -> Vec<(String, String)> {
    let cpuinfo = text_of(root, "proc/cpuinfo");
    let cpuinfo = cpuinfo.as_deref().unwrap_or("");
    let limits = text_of(root, "proc/self/limits");
    let nofile = limits.as_deref().and_then(open_files);
    let (soft, hard) = nofile.map_or((None, None), |(soft, hard)| (Some(soft), Some(hard)));
    let one_line = |path: &str| text_of(root, path);
    let named = [
        ("cpu_model", field(cpuinfo, "model name").map(str::to_owned)),
        ("cores", cores(cpuinfo)),
        ("cores_allowed", cores_allowed(root)),
        ("memory_bytes", memory_bytes(root)),
        ("kernel", one_line("proc/sys/kernel/osrelease")),
        ("hypervisor", hypervisor(cpuinfo)),
        (
            "clocksource",
            one_line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ),
        ("governor", one_line("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("congestion_control", one_line("proc/sys/net/ipv4/tcp_congestion_control")),
        (
            "autogroup",
            one_line("proc/sys/kernel/sched_autogroup_enabled")
                .map(|text| switch(&text).to_owned()),
        ),
        ("real_time_priority", real_time_priority(root)),
        ("nofile_soft", soft),
        ("nofile_hard", hard),
        (
            "port_range",
            one_line("proc/sys/net/ipv4/ip_local_port_range").as_deref().and_then(range),
        ),
    ];
    named.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
}

/// The text after the colon of the first line `NAME : text`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn cores(cpuinfo: &str) -> Option<String> {
    let is_core = |line: &&str| line.split_once(':').is_some_and(|(k, _)| k.trim() == "processor");
    let count = cpuinfo.lines().filter(is_core).count();
    (count > 0).then(|| count.to_string())
}

fn cores_allowed(root: &Path) -> Option<String> {
    let status = text_of(root, "proc/self/status")?;
    field(&status, "Cpus_allowed_list").map(str::to_owned)
}

/// Field 40 of proc_pid_stat(5), which is 0 without a real-time policy. Fields are counted from the
/// name's end, since a name may have spaces in it.
fn real_time_priority(root: &Path) -> Option<String> {
    let stat = text_of(root, "proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')')?;
    let priority = fields.split_ascii_whitespace().nth(40 - 3)?;
    (priority != "0").then(|| priority.to_owned())
}

fn memory_bytes(root: &Path) -> Option<String> {
    let meminfo = text_of(root, "proc/meminfo")?;
    memory::bytes_of(&meminfo, "MemTotal").map(|bytes| bytes.to_string())
}

/// The flag exists on x86 only: elsewhere its absence says nothing.
fn hypervisor(cpuinfo: &str) -> Option<String> {
    let flags = field(cpuinfo, "flags")?;
    let virtual_cpu = flags.split_ascii_whitespace().any(|flag| flag == "hypervisor");
    Some(if virtual_cpu { "yes" } else { "no" }.to_owned())
}

fn switch(text: &str) -> &str {
    match text {
        "0" => "off",
        "1" => "on",
        other => other,
    }
}

fn range(text: &str) -> Option<String> {
    let mut ports = text.split_ascii_whitespace();
    Some(format!("{}-{}", ports.next()?, ports.next()?))
}

/// Soft and hard limit of the line `Max open files`; either may be the word `unlimited`.
fn open_files(limits: &str) -> Option<(String, String)> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut columns = line.split_ascii_whitespace();
    Some((columns.next()?.to_owned(), columns.next()?.to_owned()))
}
