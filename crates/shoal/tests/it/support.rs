//! What several tests need: caches to answer with, recorded answers, other programs.

pub(crate) mod beat;
pub(crate) mod live;
pub(crate) mod made_up;
pub(crate) mod python;
pub(crate) mod recorded;
pub(crate) mod schema;
