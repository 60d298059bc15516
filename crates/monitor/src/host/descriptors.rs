//! Open files of the whole host: `/proc/sys/fs/file-nr`.
//!
//! Source: proc_sys_fs(5): those allocated, those of them that are free (always 0), the most.

use super::Host;
use crate::collector::CollectError;
use crate::read::row;
use crate::sample::{Group, Samples, gauge};

pub(crate) const GROUP: Group = Group {
    source: "proc/sys/fs/file-nr",
    series: &[
        gauge("1", "node_filefd_allocated", "", "open files"),
        gauge("3", "node_filefd_maximum", "", "the most files that can be open"),
    ],
};

pub(super) fn read(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    Host::parse(&host.root.join(GROUP.source), out, parse)
}

pub(crate) fn parse(text: &str, out: &mut Samples) {
    row(text.split_ascii_whitespace(), &GROUP, &[], out);
}
