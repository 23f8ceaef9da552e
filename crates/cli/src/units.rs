//! Room `cli`: times and sizes as users write them.

use std::time::Duration;

/// The number that a text begins with, its unit, and what follows.
fn number_and_unit(text: &str) -> (&str, &str, &str) {
    let digit = |c: char| c.is_ascii_digit() || c == '.';
    let (number, rest) = text.split_at(text.find(|c| !digit(c)).unwrap_or(text.len()));
    let (unit, rest) = rest.split_at(rest.find(digit).unwrap_or(rest.len()));
    (number, unit, rest)
}

/// One time or several that are added, as in `1m30s`. A single number without a unit is in seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let mut seconds = 0.0;
    let mut rest = text;
    loop {
        let (number, unit, after) = number_and_unit(rest);
        let scale = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "" if rest.len() == text.len() => 1.0,
            "" => return Err(format!("`{number}` has no unit of time; use ms, s, m or h")),
            _ => return Err(format!("`{unit}` is not a unit of time; use ms, s, m or h")),
        };
        let number: f64 = number.parse().map_err(|_| "expected a time such as 60s or 1m30s".to_owned())?;
        seconds += number * scale;
        if after.is_empty() {
            return Duration::try_from_secs_f64(seconds).map_err(|_| "that is too long".into());
        }
        rest = after;
    }
}

/// A size, as in `200M`; a number alone has no unit.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit, rest) = number_and_unit(text);
    let scale = match unit.trim_end_matches(['B', 'b', 'i']) {
        "" if unit.is_empty() && !number.is_empty() => {
            return Err(format!("which unit? write {number}M for megabytes or {number}G for gigabytes"));
        }
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        "t" | "T" => 1e12,
        _ => return Err(format!("`{unit}` is not a unit of memory; use K, M or G")),
    };
    match number.parse::<f64>() {
        Ok(number) if rest.is_empty() => Ok((number * scale) as u64),
        _ => Err("expected a size such as 4G".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("7"), Ok(Duration::from_secs(7)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h2m3.5s"), Ok(Duration::from_millis(3_723_500)));
        for wrong in ["soon", "7w", "1e999s", "", "1m30", "s", "1m s", "-1s", "1..5s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(bytes("200M"), Ok(200_000_000));
        assert_eq!(bytes("4GB"), Ok(4_000_000_000));
        assert_eq!(bytes("512B"), Ok(512));
        assert!(bytes("lots").is_err() && bytes("4G5").is_err() && bytes("").is_err());
        assert!(bytes("100").is_err_and(|message| message.contains("100M")));
    }
}
