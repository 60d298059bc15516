//! What several tests need: caches to answer with, recorded answers, other programs.

pub(crate) mod beat;
pub(crate) mod browser;
#[cfg(feature = "tls")]
pub(crate) mod certificates;
pub(crate) mod door;
pub(crate) mod live;
pub(crate) mod made_up;
pub(crate) mod python;
#[cfg(feature = "amqp")]
pub(crate) mod rabbit;
pub(crate) mod recorded;
pub(crate) mod schema;
#[cfg(feature = "amqp")]
pub(crate) mod served;
#[cfg(feature = "amqp")]
pub(crate) mod until;
