//! What starts workers on a cluster: batch scripts of Slurm, manifests of Kubernetes.
//!
//! Both are texts to read, change and hand to the cluster's own tools; nothing is started by us.
//! Neither starts a worker again: what one was doing is given to others by those who asked for it.

mod kubernetes;
mod slurm;

pub use kubernetes::Kubernetes;
pub use slurm::{Slurm, Work, is_value};

use std::time::Duration;

/// What a cluster gives the workers.
#[derive(Debug, Clone, Copy)]
pub struct Allotment<'a> {
    /// What all is called there: a name as [`is_name`] wants it.
    pub name: &'a str,
    /// How many workers there are.
    pub workers: u32,
    /// How many processors each has.
    pub processors: u32,
    /// How much memory each has.
    pub memory_bytes: u64,
    /// How long they live at most.
    pub time: Duration,
}

const MIB: u64 = 1 << 20;

/// The longest name: what is made of it ends in a number, and has to fit a label of DNS.
const LONGEST: usize = 50;

/// Whether a cluster's objects can have this name: lower-case letters, digits and `-`, from a
/// letter to a letter or digit, 50 at most.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= LONGEST
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
        && text.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_dns() {
        for name in ["plimsoll", "a", "eu-1", &"a".repeat(50)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "1a", "-a", "a-", "A", "a_b", "a.b", "ä", "a b", &"a".repeat(51)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
