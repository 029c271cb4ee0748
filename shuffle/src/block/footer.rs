//! The segment file format: where each partition's blocks lie, said at the end of the file.
//!
//! ```text
//! blocks    run 0: partition 0, partition 1, … ; run 1: partition 0, … ; back to back from byte 0
//! body      u32 runs, u32 partitions, u32 flags (1: digests)
//!           runs × partitions × (u64 length, u64 rows, u32 blocks, u32 crc)
//!           partitions × (u64 rows, u64 multiset, u64 sequence)    if there are digests
//! trailer   u64 body length, u32 CRC32C of body and body length, u32 version, 8 bytes magic
//! ```
//!
//! Offsets are not stored: extents follow one another, so they cannot overlap or leave gaps.
//! An extent's crc is the CRC32C of its blocks' checksums, in order (little-endian). The blocks
//! vouch for their bytes and the extent for its blocks: none missing, doubled or moved.

use super::FooterError;
use crate::digest::RowDigest;

/// Bytes of the trailer, the last of the file.
pub(crate) const TRAILER_BYTES: usize = 24;

const MAGIC: [u8; 8] = *b"MILLSEG\n";
const VERSION: u32 = 1;
const HAS_DIGESTS: u32 = 1;
const BODY_HEAD_BYTES: usize = 12;
const EXTENT_BYTES: usize = 24;
const DIGEST_BYTES: usize = 24;

/// The blocks of one partition in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) rows: u64,
    pub(crate) blocks: u32,
    pub(crate) crc: u32,
}

impl Extent {
    /// Accounts for one more block at the end.
    pub(crate) fn push_block(&mut self, block_len: u64, rows: u32, crc: u32) {
        self.len += block_len;
        self.rows += u64::from(rows);
        self.blocks += 1;
        self.crc = crc32c::crc32c_append(self.crc, &crc.to_le_bytes());
    }

    /// Accounts for all blocks of `next`, copied to the end.
    pub(crate) fn append(&mut self, next: &Self) {
        self.len += next.len;
        self.rows += next.rows;
        self.blocks += next.blocks;
        self.crc = crc32c::crc32c_combine(self.crc, next.crc, 4 * next.blocks as usize);
    }

    /// Where the extent ends in the file.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.len
    }
}

/// What a segment's footer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    partitions: u32,
    /// By run, then by partition.
    extents: Vec<Extent>,
    digests: Option<Vec<RowDigest>>,
}

impl Footer {
    /// A footer over whole runs of extents, whose offsets are set here.
    pub(crate) fn new(
        partitions: u32,
        mut extents: Vec<Extent>,
        digests: Option<Vec<RowDigest>>,
    ) -> Self {
        let mut offset = 0;
        for extent in &mut extents {
            extent.offset = offset;
            offset = extent.end();
        }
        Self { partitions, extents, digests }
    }

    pub(crate) fn partitions(&self) -> u32 {
        self.partitions
    }

    pub(crate) fn extents(&self) -> &[Extent] {
        &self.extents
    }

    pub(crate) fn digests(&self) -> Option<&[RowDigest]> {
        self.digests.as_deref()
    }

    pub(crate) fn runs(&self) -> u32 {
        self.extents.len().checked_div(self.partitions as usize).unwrap_or(0) as u32
    }

    /// The extents of one partition that hold anything, in the order of their runs.
    pub(crate) fn extents_of(&self, partition: u32) -> impl Iterator<Item = &Extent> {
        self.extents
            .chunks_exact(self.partitions.max(1) as usize)
            .filter_map(move |run| run.get(partition as usize))
            .filter(|extent| extent.len > 0)
    }

    /// Appends body and trailer to `out`.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let flags = if self.digests.is_some() { HAS_DIGESTS } else { 0 };
        for word in [self.runs(), self.partitions, flags] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for extent in &self.extents {
            out.extend_from_slice(&extent.len.to_le_bytes());
            out.extend_from_slice(&extent.rows.to_le_bytes());
            out.extend_from_slice(&extent.blocks.to_le_bytes());
            out.extend_from_slice(&extent.crc.to_le_bytes());
        }
        for digest in self.digests.iter().flatten() {
            for word in [digest.rows, digest.multiset, digest.sequence] {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
        let body_len = (out.len() - start) as u64;
        out.extend_from_slice(&body_len.to_le_bytes());
        let crc = crc32c::crc32c(&out[start..]);
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&MAGIC);
    }

    /// Reads body and trailer, the last bytes of a file of `file_len`. Nothing is allocated
    /// before the checksum and the sizes are known to hold.
    pub(crate) fn decode(bytes: &[u8], file_len: u64) -> Result<Self, FooterError> {
        let trailer = Trailer::parse(bytes, file_len)?;
        let needed = trailer.footer_len();
        let found = bytes.len() as u64;
        let start = found.checked_sub(needed).ok_or(FooterError::Truncated { needed, found })?;
        let checked = &bytes[start as usize..bytes.len() - TRAILER_BYTES + 8];
        trailer.verify(checked)?;
        let body = &checked[..checked.len() - 8];
        let footer = decode_body(body)?;
        footer.check(file_len - needed)?;
        Ok(footer)
    }

    /// Checks what the checksum cannot: that the parts agree with each other and the file.
    fn check(&self, data_len: u64) -> Result<(), FooterError> {
        let inconsistent = |what| Err(FooterError::Inconsistent { what });
        let mut total = 0u64;
        for extent in &self.extents {
            if (extent.len == 0) != (extent.blocks == 0) || (extent.len == 0) != (extent.rows == 0)
            {
                return inconsistent("an extent has rows without blocks or blocks without rows");
            }
            total += extent.len;
        }
        if total != data_len {
            return inconsistent("the extents do not add up to the bytes before the footer");
        }
        for (partition, digest) in (0..).zip(self.digests.iter().flatten()) {
            if digest.rows != self.extents_of(partition).map(|extent| extent.rows).sum::<u64>() {
                return inconsistent("a digest is of another number of rows than its partition");
            }
        }
        Ok(())
    }
}

/// The fixed-size end of a segment.
pub(crate) struct Trailer {
    body_len: u64,
    crc: u32,
}

impl Trailer {
    /// Reads the trailer at the end of `bytes`, which end a file of `file_len` bytes.
    pub(crate) fn parse(bytes: &[u8], file_len: u64) -> Result<Self, FooterError> {
        let least = (BODY_HEAD_BYTES + TRAILER_BYTES) as u64;
        let Some(trailer) = bytes.last_chunk::<TRAILER_BYTES>().filter(|_| file_len >= least)
        else {
            return Err(FooterError::Truncated { needed: least, found: file_len });
        };
        let mut fields = Fields(trailer);
        let (body_len, crc, version) = (fields.u64(), fields.u32(), fields.u32());
        if fields.0 != MAGIC {
            return Err(FooterError::Magic);
        }
        if version != VERSION {
            return Err(FooterError::Version { found: version });
        }
        let needed = body_len.saturating_add(TRAILER_BYTES as u64);
        if needed > file_len {
            return Err(FooterError::Truncated { needed, found: file_len });
        }
        Ok(Self { body_len, crc })
    }

    /// Bytes of body and trailer; never more than the file has.
    pub(crate) fn footer_len(&self) -> u64 {
        self.body_len + TRAILER_BYTES as u64
    }

    fn verify(&self, checked: &[u8]) -> Result<(), FooterError> {
        let found = crc32c::crc32c(checked);
        if found == self.crc {
            Ok(())
        } else {
            Err(FooterError::Checksum { expected: self.crc, found })
        }
    }
}

fn decode_body(body: &[u8]) -> Result<Footer, FooterError> {
    let mut fields = Fields(body);
    let (runs, partitions, flags) = (fields.u32(), fields.u32(), fields.u32());
    let extents = u128::from(runs) * u128::from(partitions);
    let digests = if flags & HAS_DIGESTS == 0 { 0 } else { u128::from(partitions) };
    let needed =
        BODY_HEAD_BYTES as u128 + extents * EXTENT_BYTES as u128 + digests * DIGEST_BYTES as u128;
    if needed != body.len() as u128 || flags > HAS_DIGESTS {
        let what = "its length does not fit its counts";
        return Err(FooterError::Inconsistent { what });
    }
    let extents = (0..extents)
        .map(|_| Extent {
            offset: 0,
            len: fields.u64(),
            rows: fields.u64(),
            blocks: fields.u32(),
            crc: fields.u32(),
        })
        .collect::<Vec<_>>();
    let sum = |of: fn(&Extent) -> u64| extents.iter().map(of).try_fold(0, u64::checked_add);
    if sum(|extent| extent.len).is_none() || sum(|extent| extent.rows).is_none() {
        return Err(FooterError::Inconsistent { what: "its lengths or rows overflow" });
    }
    let digests = (flags == HAS_DIGESTS).then(|| {
        (0..partitions)
            .map(|_| RowDigest {
                rows: fields.u64(),
                multiset: fields.u64(),
                sequence: fields.u64(),
            })
            .collect()
    });
    Ok(Footer::new(partitions, extents, digests))
}

/// Takes little-endian fields off the front; what is not there reads as zero.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk::<N>() {
            Some((field, rest)) => {
                self.0 = rest;
                *field
            }
            None => [0; N],
        }
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Footer {
        let extent = |len, rows, blocks| Extent { len, rows, blocks, crc: 7, offset: 0 };
        let none = Extent::default();
        let extents = vec![extent(30, 2, 1), none, extent(80, 9, 2), none, none, extent(25, 1, 1)];
        let digest = |rows| RowDigest { rows, multiset: 1, sequence: 2 };
        Footer::new(3, extents, Some(vec![digest(2), digest(0), digest(10)]))
    }

    fn encoded(footer: &Footer) -> Vec<u8> {
        let mut bytes = Vec::new();
        footer.encode(&mut bytes);
        bytes
    }

    #[test]
    fn a_footer_comes_back_with_its_offsets() {
        let (footer, bytes) = (sample(), encoded(&sample()));
        let decoded = Footer::decode(&bytes, 135 + bytes.len() as u64).unwrap();
        assert_eq!(decoded, footer);
        assert_eq!(decoded.runs(), 2);
        let offsets: Vec<u64> = decoded.extents_of(2).map(|extent| extent.offset).collect();
        assert_eq!(offsets, [30, 110]);
        assert_eq!(decoded.extents_of(1).count(), 0);
        assert_eq!(decoded.extents_of(3).count(), 0);
    }

    #[test]
    fn a_flipped_bit_anywhere_is_an_error() {
        let bytes = encoded(&sample());
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            assert!(Footer::decode(&damaged, 135 + bytes.len() as u64).is_err(), "bit {at}");
        }
    }

    #[test]
    fn each_fault_has_its_own_error() {
        let good = encoded(&sample());
        let len = good.len();
        let decode = |bytes: &[u8]| Footer::decode(bytes, 135 + len as u64).unwrap_err();
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        assert_eq!(decode(&with(len - 1, b'X')), FooterError::Magic);
        assert_eq!(decode(&with(len - 12, 2)), FooterError::Version { found: 2 });
        assert!(matches!(decode(&with(0, 99)), FooterError::Checksum { .. }));
        assert!(matches!(decode(&with(len - 17, 1)), FooterError::Truncated { .. }));
        assert!(matches!(Footer::decode(&[], 0), Err(FooterError::Truncated { found: 0, .. })));
        assert!(matches!(
            Footer::decode(&good, 136 + len as u64),
            Err(FooterError::Inconsistent { .. })
        ));
    }

    #[test]
    fn appended_extents_have_the_crc_of_their_blocks_in_order() {
        let of = |crcs: &[u32]| {
            let mut extent = Extent::default();
            crcs.iter().for_each(|crc| extent.push_block(30, 2, *crc));
            extent
        };
        let (mut left, right) = (of(&[1, 2]), of(&[3]));
        left.append(&right);
        assert_eq!(left, of(&[1, 2, 3]));
        assert_ne!(left.crc, of(&[2, 1, 3]).crc);
        let mut empty = Extent::default();
        empty.append(&right);
        assert_eq!(empty, right);
    }

    /// A footer of any body, under a checksum that holds.
    fn forged(body: &[u8]) -> Vec<u8> {
        let mut bytes = [body, &(body.len() as u64).to_le_bytes()].concat();
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&MAGIC);
        bytes
    }

    #[test]
    fn counts_that_do_not_fit_are_refused_before_anything_is_allocated() {
        for counts in [[u32::MAX, u32::MAX, 0], [u32::MAX, 1, 1], [0, u32::MAX, 1], [1, 1, 0]] {
            let body = counts.map(u32::to_le_bytes).concat();
            let bytes = forged(&body);
            assert!(matches!(
                Footer::decode(&bytes, bytes.len() as u64),
                Err(FooterError::Inconsistent { .. })
            ));
        }
    }

    #[test]
    fn totals_that_overflow_are_refused() {
        for (len, rows) in [(u64::MAX, 1), (1, u64::MAX)] {
            let extent = [&len.to_le_bytes()[..], &rows.to_le_bytes(), &[1; 8]].concat();
            let body =
                [&[2u32, 1, 0].map(u32::to_le_bytes).concat()[..], &extent, &extent].concat();
            let bytes = forged(&body);
            assert!(matches!(
                Footer::decode(&bytes, bytes.len() as u64 + 2),
                Err(FooterError::Inconsistent { what }) if what.contains("overflow")
            ));
        }
    }

    proptest! {
        #[test]
        fn noise_is_an_error_and_never_a_panic(
            body in prop::collection::vec(any::<u8>(), 0..200),
            counts in [0u32..4, 0u32..4, 0u32..3],
            file_len in 0u64..1000,
        ) {
            prop_assert!(Footer::decode(&body, file_len).is_err());
            let body = [&counts.map(u32::to_le_bytes).concat()[..], &body].concat();
            let _ = Footer::decode(&forged(&body), file_len);
        }
    }
}
