//! HTTP/1.1 as much as a server of known behaviour needs: requests are read strictly and their
//! bodies dropped, answers come ready-made. Where an answer depends on what is asked for, that is
//! noted beside.

pub(crate) mod answer;
pub(crate) mod chunked;
pub mod head;
pub mod reader;
pub mod request_head;
