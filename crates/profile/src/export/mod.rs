//! Traces in the formats of others: the Perfetto timeline viewer's, Parquet.

mod parquet;
mod perfetto;
mod protobuf;

pub use parquet::Parquet;
pub use perfetto::perfetto;
