//! Speaks to model servers, without any network of its own.
//!
//! - [`encode`] makes a request; the caller sends it.
//! - [`Decoder`] reads the answer in chunks of any size.
//! - [`Refusal`] translates an answer other than 200 to an error.
//! - [`catalog`] asks for the models of a server.
//! - [`pull`] brings a model to a server or removes it.
//! - [`doctor`] finds out why a page cannot reach a server.
#![forbid(unsafe_code)]

mod answer;
pub mod catalog;
mod decode;
mod dialect;
pub mod doctor;
mod encode;
mod error;
mod http;
mod json;
mod limits;
mod lines;
mod ndjson;
pub mod pull;
mod sse;
mod think;

pub use decode::Decoder;
pub use dialect::Dialect;
pub use encode::encode;
pub use error::Refusal;
pub use http::HttpRequest;
pub use limits::Limits;
