//! As much of the protobuf wire format as a timeline needs (protobuf.dev, "Encoding").

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// How a field's value is encoded: the low three bits of its key.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const DELIMITED: u64 = 2;

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }

    /// A number.
    pub(super) fn number(mut self, field: u32, value: u64) -> Self {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    /// A floating-point number of 64 bits.
    pub(super) fn double(mut self, field: u32, value: f64) -> Self {
        self.key(field, FIXED_64);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Text.
    pub(super) fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// A message in this one.
    pub(super) fn message(self, field: u32, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.key(field, DELIMITED);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Its bytes on the wire.
    pub(super) fn wire(&self) -> &[u8] {
        &self.0
    }
}
