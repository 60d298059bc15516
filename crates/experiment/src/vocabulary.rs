//! What plans may say that only the registries of higher floors know, put together once.

use crate::world::pool::wish::figures;
use plimsoll_cache::cluster::{Protocol, Spread};
use plimsoll_cache::eviction;
use plimsoll_elastic::policy;
use plimsoll_plan::{Named, Vocabulary};
use plimsoll_units::parameter::Parameter;
use std::sync::LazyLock;

/// The vocabulary of this program.
pub static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
    schemes: plimsoll_load::schemes().collect(),
    policies: policy::KINDS
        .iter()
        .map(|kind| named(kind.name, kind.about, kind.parameters))
        .collect(),
    evictions: eviction::KINDS
        .iter()
        .map(|kind| named(kind.name, kind.about, kind.parameters))
        .collect(),
    protocols: Protocol::NAMES.iter().map(|(name, about, of)| named(name, about, of)).collect(),
    spreads: Spread::NAMES.iter().map(|(name, about)| plain(name, about)).collect(),
    figures: figures().map(|(word, figure)| plain(word, figure.label)).collect(),
});

fn plain(name: &'static str, about: &'static str) -> Named {
    named(name, about, &[])
}

fn named(name: &'static str, about: &'static str, parameters: &'static [Parameter]) -> Named {
    Named { name, about, parameters }
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
