//! One hash that is the same on every machine and in every version, for choices that must not change between runs.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a over the parts, each ended by a byte that no text contains, and then mixed: without that, inputs which differ
/// in their last byte only would make the same choices.
pub fn stable_hash(parts: &[&[u8]]) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    let hash = parts.iter().fold(OFFSET, |hash, part| fold(part.iter().copied().fold(hash, fold), 0xff));
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::stable_hash;

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(stable_hash(&[b"claim", b"0"]), 0x014a_3269_4469_e4ee);
    }

    #[test]
    fn where_one_part_ends_matters() {
        assert_ne!(stable_hash(&[b"ab", b"c"]), stable_hash(&[b"a", b"bc"]));
    }
}
