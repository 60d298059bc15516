//! Queues with known answers: loss, waiting, and percentiles of response times.
//!
//! Loads are in erlangs: arrivals per second times the mean service time in seconds. Times come
//! out in units of the mean service time unless a name ends in `_s`.
//!
//! Sources: A. K. Erlang 1917; L. Kleinrock, *Queueing Systems* I, 1975, sections 3.4 to 3.6 and
//! 5.6; A. A. Jagerman, *Some properties of the Erlang loss function*, Bell System Technical
//! Journal 53, 1974, for the recursion of the reciprocal, which neither overflows nor loses digits.

mod erlang;
mod finite;
mod response;
mod single;

pub use erlang::{erlang_b, erlang_c, least_servers_b, least_servers_c};
pub use finite::Finite;
pub use response::Waiting;
pub use single::{mg1_response, mg1_sharing_response};
