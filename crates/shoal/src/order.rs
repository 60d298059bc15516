//! Which caches a client is given, in which order.

mod distance;
mod look;
mod question;
mod shoal;
mod sites;

pub use distance::distance_order;
pub use look::{Looker, MOST, nearest};
pub use question::{Menu, Pick, Question};
pub use shoal::{Weighed, Weighing, shoal_order};
pub use sites::{Sites, SitesError, SitesFault};
