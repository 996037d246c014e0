//! Converts line rates in the kernel's formats to bits per second. Performs no I/O.

/// Parses the `speed` file of a network interface: the speed in Mbit/s, or -1 if the link is down or has no speed.
pub(super) fn parse_interface_speed(text: &str) -> Option<u64> {
    let megabits: u64 = text.trim().parse().ok()?;
    megabits
        .checked_mul(1_000_000)
        // Older kernels report an unknown speed as -1 converted to an unsigned 32-bit integer.
        .filter(|_| megabits > 0 && megabits < u64::from(u32::MAX))
}

/// Parses the `rate` file of an RDMA port, such as `100 Gb/sec (4X EDR)` or `2.5 Gb/sec (1X SDR)`.
pub(super) fn parse_port_rate(text: &str) -> Option<u64> {
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
    fn parses_interface_speeds_in_megabits() {
        assert_eq!(parse_interface_speed("25000\n"), Some(25_000_000_000));
        for unknown in ["-1\n", "0\n", "4294967295\n", "", "fast"] {
            assert_eq!(parse_interface_speed(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn parses_port_rates_in_gigabits_with_one_decimal() {
        assert_eq!(parse_port_rate("400 Gb/sec (4X NDR)\n"), Some(400_000_000_000));
        assert_eq!(parse_port_rate("2.5 Gb/sec (1X SDR)\n"), Some(2_500_000_000));
        for unknown in ["0 Gb/sec (1X SDR)", "100 Mb/sec", "", "2.55 Gb/sec", "x Gb/sec"] {
            assert_eq!(parse_port_rate(unknown), None, "{unknown}");
        }
    }
}
