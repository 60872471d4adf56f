//! Duration strings of the options: `"250us"`, `"200ms"`, `"10s"`, `"5m"`, `"1h"`, `"2d"`.

/// Longest duration: 100 years of 365 days, as for timers.
const MAX_US: u64 = 100 * 365 * 24 * 60 * 60 * 1_000_000;

const UNITS: [(&str, u64); 6] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("m", 60 * 1_000_000),
    ("h", 60 * 60 * 1_000_000),
    ("d", 24 * 60 * 60 * 1_000_000),
];

const FORM: &str = "write a whole number and a unit: us, ms, s, m, h or d, as in \"200ms\" or \"10s\"";

/// Reads a duration in microseconds, or says what to write instead.
pub(crate) fn parse_us(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(format!("the duration is empty; {FORM}"));
    }
    if trimmed.starts_with('-') {
        return Err(format!("the duration `{text}` is negative; {FORM}"));
    }
    let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    if number.is_empty() {
        return Err(format!("the duration `{text}` has no number; {FORM}"));
    }
    let unit = unit.trim_start();
    if unit.is_empty() {
        return Err(format!(
            "the duration `{text}` has no unit; write `{number}s` for seconds, `{number}ms` for milliseconds"
        ));
    }
    if unit.starts_with('.') {
        return Err(format!(
            "the duration `{text}` has a fraction; use a smaller unit, as in \"1500ms\" for 1.5 s"
        ));
    }
    let Some(&(_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("the duration `{text}` has an unknown unit `{unit}`; {FORM}"));
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .filter(|us| *us <= MAX_US)
        .ok_or_else(|| format!("the duration `{text}` is over the limit of 100 years (36500d)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_read() {
        let cases = [
            ("250us", 250),
            ("200ms", 200_000),
            ("10s", 10_000_000),
            ("5m", 300_000_000),
            ("1h", 3_600_000_000),
            ("2d", 172_800_000_000),
            ("0s", 0),
            (" 10 s ", 10_000_000),
            ("36500d", MAX_US),
        ];
        for (text, us) in cases {
            assert_eq!(parse_us(text), Ok(us), "{text}");
        }
    }

    #[test]
    fn each_bad_form_says_what_to_write() {
        let cases = [
            ("", "is empty"),
            ("  ", "is empty"),
            ("-5s", "is negative"),
            ("10", "has no unit; write `10s`"),
            ("s", "has no number"),
            ("1.5s", "has a fraction"),
            ("10 sec", "unknown unit `sec`"),
            ("10S", "unknown unit `S`"),
            ("1h30m", "unknown unit `h30m`"),
            ("36501d", "over the limit"),
            ("99999999999999999999999s", "over the limit"),
            ("18446744073709551615d", "over the limit"),
        ];
        for (text, part) in cases {
            let error = parse_us(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
