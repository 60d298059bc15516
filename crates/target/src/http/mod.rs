//! HTTP/1.1 as much as a server of known behaviour needs: requests are read strictly and their
//! bodies dropped, answers come ready-made.

pub(crate) mod answer;
pub(crate) mod chunked;
pub mod head;
pub mod reader;
