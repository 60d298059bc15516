//! What plans may say that only the registries of higher floors know, put together once.

use crate::world::pool::wish::figures;
use plimsoll_cache::cluster::{Protocol, Spread};
use plimsoll_cache::eviction;
use plimsoll_elastic::policy;
use plimsoll_plan::{Named, Parameter, Vocabulary};
use std::sync::LazyLock;

/// The vocabulary of this program.
pub static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
    schemes: plimsoll_load::schemes().collect(),
    policies: policy::KINDS.iter().map(|kind| policy_of(kind)).collect(),
    evictions: eviction::KINDS.iter().map(|kind| plain(kind.name, kind.about)).collect(),
    protocols: Protocol::NAMES.iter().map(|(name, about)| plain(name, about)).collect(),
    spreads: Spread::NAMES.iter().map(|(name, about)| plain(name, about)).collect(),
    figures: figures().map(|(word, figure)| plain(word, figure.label)).collect(),
});

fn plain(name: &'static str, about: &'static str) -> Named {
    Named { name, about, parameters: Vec::new() }
}

fn policy_of(kind: &policy::Kind) -> Named {
    let parameter = |of: &policy::Parameter| Parameter {
        name: of.name,
        takes: of.takes,
        default: (of.default != "–").then_some(of.default),
        about: of.about,
    };
    Named {
        name: kind.name,
        about: kind.about,
        parameters: kind.parameters.iter().map(parameter).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::pool::wish::figure_of;

    #[test]
    fn every_name_is_one_that_is_read() {
        for figure in &VOCABULARY.figures {
            assert!(figure_of(figure.name).is_ok(), "{}", figure.name);
        }
        for kind in &VOCABULARY.evictions {
            assert!(kind.name.parse::<eviction::Policy>().is_ok(), "{}", kind.name);
        }
        assert!(VOCABULARY.policies.iter().any(|kind| !kind.parameters.is_empty()));
    }
}
