//! Histograms as text in the format of HDR histogram logs: format V2, deflated, base64.

use crate::latencies::{DIGITS, HIGHEST_NS, Latencies};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::io::Read;

/// Bytes before the deflated data: a cookie and a length.
const OUTER: usize = 8;
/// Bytes of the header before the counts: cookie, length, offset, digits, lowest, highest, ratio.
const HEADER: usize = 40;
/// Most bytes of the counts of a histogram of this range: 33 doublings above the first 2048 buckets, each at most 9
/// bytes.
const LONGEST: usize = 9 * 35 * 1024;

/// Why a text is not a histogram of latencies.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a deflated HDR histogram, format V2, of nanoseconds with 3 digits: {0}")]
pub struct DecodeError(String);

impl Latencies {
    /// Encodes as text that other HDR histogram tools read; empty if the library fails.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        match V2DeflateSerializer::new().serialize(self.histogram(), &mut bytes) {
            Ok(_) => STANDARD.encode(bytes),
            Err(_) => String::new(),
        }
    }

    /// Decodes a text of [`Self::encode`]. The text may be untrusted: no length in it is used without a check.
    ///
    /// # Errors
    /// The reason why the text is invalid.
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        let wrong = |what: &str| DecodeError(what.to_owned());
        if text.len() > 2 * LONGEST {
            return Err(wrong("too long"));
        }
        let packed = STANDARD.decode(text).map_err(|e| DecodeError(e.to_string()))?;
        let deflated = packed.get(OUTER..).ok_or_else(|| wrong("too short"))?;
        let mut bytes = Vec::new();
        let most = (HEADER + LONGEST) as u64;
        ZlibDecoder::new(deflated).take(most).read_to_end(&mut bytes).map_err(|e| DecodeError(e.to_string()))?;
        let number = |from: usize, length: usize| {
            let field = bytes.get(from..from + length)?;
            Some(field.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
        };
        let counts = bytes.len().checked_sub(HEADER).ok_or_else(|| wrong("too short"))?;
        if number(4, 4) != Some(counts as u64) {
            return Err(wrong("its length differs from the recorded length"));
        }
        // The highest value of a histogram that grew is the end of its last bucket.
        let (low, high) = (number(16, 8), number(24, 8).unwrap_or(0));
        if number(12, 4) != Some(DIGITS.into()) || low != Some(1) || !(2..2 * HIGHEST_NS).contains(&high) {
            return Err(wrong("another range or number of digits"));
        }
        let histogram =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| DecodeError(e.to_string()))?;
        Ok(Self::of_read(histogram))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some(count: u32) -> Latencies {
        let mut latencies = Latencies::new();
        // A long tail, as of a server.
        (0..count).for_each(|i| latencies.record((2e5 / (1.0 - f64::from(i) / f64::from(count)).powf(0.5)) as u64));
        latencies
    }

    #[test]
    fn a_histogram_comes_back_from_its_text_with_the_same_percentiles() {
        for count in [0, 1, 2, 1000, 100_000] {
            let latencies = some(count);
            let text = latencies.encode();
            println!("{count} latencies, {} different: {} bytes", latencies.each().count(), text.len());
            let read = Latencies::decode(&text).unwrap();
            let read = latencies.max_ms().map_or(read.clone(), |longest| read.with_longest_ms(longest));
            assert_eq!(read.count(), u64::from(count));
            for percentile in [50.0, 99.0, 99.9, 100.0] {
                assert_eq!(read.percentile_ms(percentile), latencies.percentile_ms(percentile), "{count} {percentile}");
            }
        }
    }

    #[test]
    fn lengths_and_ranges_of_others_are_refused_before_memory_is_taken() {
        let good = STANDARD.decode(some(10).encode()).unwrap();
        let mut inner = Vec::new();
        ZlibDecoder::new(&good[OUTER..]).read_to_end(&mut inner).unwrap();
        let packed = |inner: &[u8]| {
            let mut bytes = good[..OUTER].to_vec();
            let mut to = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::default());
            std::io::Write::write_all(&mut to, inner).unwrap();
            to.finish().unwrap();
            Latencies::decode(&STANDARD.encode(bytes))
        };
        assert!(packed(&inner).is_ok());
        for (place, byte) in [(4, 0xff), (15, 5), (23, 2), (24, 0x7f), (0, 0)] {
            let mut wrong = inner.clone();
            wrong[place] = byte;
            assert!(packed(&wrong).is_err(), "byte {place}");
        }
        assert!(packed(&vec![0; 4 << 20]).is_err(), "a bomb");
        for text in ["", "AAAA", "not base64!", &"A".repeat(3 * LONGEST)] {
            assert!(Latencies::decode(text).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_counts_make_the_reader_panic(counts in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut inner = Vec::new();
            ZlibDecoder::new(&STANDARD.decode(some(10).encode()).unwrap()[OUTER..]).read_to_end(&mut inner).unwrap();
            inner.truncate(HEADER);
            inner[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
            inner.extend(counts);
            let mut bytes = vec![0; OUTER];
            let mut to = flate2::write::ZlibEncoder::new(&mut bytes, flate2::Compression::default());
            std::io::Write::write_all(&mut to, &inner).unwrap();
            to.finish().unwrap();
            if let Ok(read) = Latencies::decode(&STANDARD.encode(bytes)) {
                let mut sum = Latencies::new();
                sum.merge(&read);
                sum.merge(&read);
                let _ = (sum.percentile_ms(99.0), sum.mean_ms(), sum.each().count());
            }
        }
    }
}
