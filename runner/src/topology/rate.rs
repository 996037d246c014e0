//! Line rates as the kernel writes them, in bits a second. Pure.

/// `speed` of a network interface, in Mbit/s; -1 where the link is down or has no speed.
pub(super) fn of_interface(text: &str) -> Option<u64> {
    let megabits: u64 = text.trim().parse().ok()?;
    megabits
        .checked_mul(1_000_000)
        // What older kernels write for an unknown speed: -1 as an unsigned number of 32 bits.
        .filter(|_| megabits > 0 && megabits < u64::from(u32::MAX))
}

/// `rate` of an RDMA port: `100 Gb/sec (4X EDR)`, `2.5 Gb/sec (1X SDR)`.
pub(super) fn of_port(text: &str) -> Option<u64> {
    let (number, _) = text.trim().split_once(" Gb/sec")?;
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let tenths = tenths.get(..1).filter(|_| tenths.len() == 1)?;
    let whole: u64 = whole.parse().ok()?;
    let tenths: u64 = tenths.parse().ok()?;
    let bits = whole
        .checked_mul(1_000_000_000)?
        .checked_add(tenths * 100_000_000)?;
    (bits > 0).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_have_megabits() {
        assert_eq!(of_interface("25000\n"), Some(25_000_000_000));
        for unknown in ["-1\n", "0\n", "4294967295\n", "", "fast"] {
            assert_eq!(of_interface(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn ports_have_gigabits_with_one_decimal() {
        assert_eq!(of_port("400 Gb/sec (4X NDR)\n"), Some(400_000_000_000));
        assert_eq!(of_port("2.5 Gb/sec (1X SDR)\n"), Some(2_500_000_000));
        for unknown in ["0 Gb/sec (1X SDR)", "100 Mb/sec", "", "2.55 Gb/sec", "x Gb/sec"] {
            assert_eq!(of_port(unknown), None, "{unknown}");
        }
    }
}
