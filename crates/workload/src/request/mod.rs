//! What to request: the requests of a load, and the order in which they are asked for.
//!
//! The drivers of `load` read a [`Requests`] once, and ask a [`Picker`] for the index of each
//! request. Nothing here touches a socket.

mod alias;
mod auth;
mod error;
mod header;
mod list;
mod listed;
mod message;
mod order;
mod pattern;
mod picker;
mod redirect;
mod scheme;
pub mod secrets;
mod template;
mod tls_query;
mod url;
mod zipf;

pub use alias::Alias;
pub use auth::{Credentials, bearer};
pub use error::RequestError;
pub use header::{parse_header, parse_method};
pub use list::{UrlList, UrlListReader};
pub use listed::{Listed, MAX_BYTES, MAX_REQUESTS, RequestList, RequestListReader};
pub use message::{Request, Requests};
pub use order::Order;
pub use pattern::pattern;
pub use picker::Picker;
pub use redirect::is_redirect;
pub use scheme::{Databases, HTTP, HTTPS, OF_HTTP, Scheme, StoreScheme, WS, WSS};
pub use template::{RenderState, Template};
pub use url::Url;
pub use zipf::Zipf;
