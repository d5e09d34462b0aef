//! Formats numbers for people: a unit with every figure, one scale per column.

use tare_findings::mode::{Middle, Mode};
use tare_results::unit::Unit;
use tare_stats::Interval;
use tare_text::{TOO_LONG, decimal, is_zero, percent, unsigned_zero};

/// How the values of one metric are formatted in one table or on one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    divisor: f64,
    decimals: usize,
    /// Unit of the scaled numbers: `k/s`, `ms`, `%` ...; empty if there is none.
    pub unit: String,
}

/// Maximum number of decimals; a value that rounds to zero with them is written as a power of ten.
const MOST_DECIMALS: usize = 6;

const SI: [(f64, &str); 7] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
const BINARY: [(f64, &str); 5] =
    [(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];

impl Scale {
    /// A scale for a column in `unit` (of [`tare_results::metric`]) whose largest magnitude is `largest`, showing it
    /// with `digits` significant digits.
    pub fn new(unit: Unit, largest: f64, digits: usize) -> Self {
        // A table with more digits has the same prefix as the sentence about it.
        let (prefixing, largest) = (rounded(largest.abs(), digits.min(3)), rounded(largest.abs(), digits));
        let (divisor, unit) = match unit {
            Unit::PerS => prefixed(prefixing, "/s", &SI[..=3]),
            Unit::PerMin => prefixed(prefixing, "/min", &SI[..=3]),
            // Only times get prefixes below one; seconds above one have none, because kiloseconds are not in use.
            Unit::S => prefixed(prefixing, "s", &SI[3..]),
            // A metric with its unit in its name (latency_ms_mean) keeps that unit.
            Unit::Us => (1.0, "µs".to_owned()),
            Unit::Ms | Unit::Ns => (1.0, unit.to_string()),
            Unit::Bytes => BINARY
                .iter()
                .find(|(step, _)| largest >= *step)
                .map_or((1.0, "B".to_owned()), |(step, name)| (*step, (*name).to_owned())),
            Unit::Fraction => (0.01, "%".to_owned()),
            Unit::Pages | Unit::Plain => prefixed(prefixing, unit.name(), &SI[..=3]),
        };
        let scaled = largest / divisor;
        let integer_digits = match scaled {
            s if s >= 1.0 => (s.log10().floor() as usize).saturating_add(1),
            s if s > 0.0 => 0,
            _ => 1,
        };
        let leading_zeros = if scaled > 0.0 && scaled < 1.0 { (-scaled.log10().floor()) as usize - 1 } else { 0 };
        let decimals = (digits.saturating_sub(integer_digits) + leading_zeros).min(MOST_DECIMALS);
        Self { divisor, decimals, unit }
    }

    /// The scale of the values that represent the trials of conditions. Single trials, which may be larger, have no
    /// part in it, because no sentence mentions them.
    pub fn of_middles<'m>(unit: Unit, middles: impl Iterator<Item = Middle<'m>>) -> Self {
        let largest = |middle: Middle<'_>| match middle {
            Middle::Mean(mean, _) => mean.abs(),
            Middle::Modes(modes) => modes.iter().map(|mode| mode.mean.abs()).fold(0.0, f64::max),
            Middle::Range(least, most) => least.abs().max(most.abs()),
        };
        Self::new(unit, middles.map(largest).fold(0.0, f64::max), 4)
    }

    /// A name with the unit of its figures: `tps, k/s`.
    pub(crate) fn with_unit(&self, name: &str) -> String {
        if self.unit.is_empty() { name.to_owned() } else { format!("{name}, {}", self.unit) }
    }

    /// The number without its unit, for a column with the unit in its head.
    pub fn number(&self, value: f64) -> String {
        let scaled = value / self.divisor;
        let too_small = self.decimals == MOST_DECIMALS && scaled != 0.0 && scaled.abs() < 5e-7;
        if too_small { format!("{scaled:.2e}") } else { decimal(scaled, self.decimals) }
    }

    /// The value that [`Scale::number`] prints.
    fn printed(&self, value: f64) -> f64 {
        self.number(value).parse().map_or(value, |number: f64| number * self.divisor)
    }

    /// The figure of a single condition, without its unit, with enough decimals for two significant digits.
    pub fn value(&self, value: f64) -> String {
        self.down_to(value).number(value)
    }

    /// The same with its unit.
    pub fn value_in_unit(&self, value: f64) -> String {
        self.down_to(value).figure(value)
    }

    /// This scale, with more decimals if it would change a small value by more than 5% through rounding.
    fn down_to(&self, value: f64) -> Self {
        let scaled = (value / self.divisor).abs();
        let step = 0.1_f64.powf(self.decimals as f64);
        let lost = ((scaled / step).round() * step - scaled).abs();
        let decimals = match lost > scaled / 20.0 {
            true => ((1.0 - scaled.log10().floor()) as usize).clamp(self.decimals, MOST_DECIMALS),
            false => self.decimals,
        };
        Self { decimals, ..self.clone() }
    }

    /// A mean with half of its interval, without the unit; `± ?` if half of the interval exceeds the mean, which is
    /// then unknown.
    fn mean(&self, mean: f64, interval: Option<Interval>) -> String {
        let scale = self.down_to(mean);
        let mut text = scale.number(mean);
        if let Some(interval) = interval {
            let half = interval.width() / 2.0;
            text += " ± ";
            text += &match scale.number(half) {
                _ if !is_known(mean, interval) => "?".to_owned(),
                // A mean that is not exact does not look exact.
                short if half > 0.0 && is_zero(&short) => scale.value(half),
                short => short,
            };
        }
        text
    }

    /// Both ends of an interval of a mean, without the unit; `?` if `Scale::mean` writes `± ?`, a dash if there is
    /// none.
    pub fn ends(&self, mean: f64, interval: Option<Interval>) -> [String; 2] {
        match interval {
            None => ["–".to_owned(), "–".to_owned()],
            Some(interval) if !is_known(mean, interval) => ["?".to_owned(), "?".to_owned()],
            Some(Interval { low, high }) => [low, high].map(|end| self.number(end)),
        }
    }

    /// The value that represents the trials: the mean as `Scale::mean` writes it, each mode with its share of the
    /// trials, or the range of the trials.
    pub fn middle(&self, middle: Middle<'_>) -> Vec<String> {
        match middle {
            Middle::Mean(mean, interval) => vec![self.mean(mean, interval)],
            Middle::Modes(modes) => shares(modes, |value| self.value(value)),
            Middle::Range(least, most) => vec![format!("{} to {}", self.value(least), self.value(most))],
        }
    }

    /// The mean with the unit and without an interval, or each mode.
    pub fn middle_figure(&self, mean: f64, modes: &[Mode]) -> Vec<String> {
        if modes.is_empty() { vec![self.figure(mean)] } else { shares(modes, |value| self.figure(value)) }
    }

    /// The number with its unit.
    pub fn figure(&self, value: f64) -> String {
        match self.unit.as_str() {
            "" => self.number(value),
            "%" => format!("{}%", self.number(value)),
            unit => format!("{} {unit}", self.number(value)),
        }
    }
}

/// The number as it is written with so many digits: 999.6 with three is 1000, which has a prefix.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// Each mode with its share of the trials.
fn shares(modes: &[Mode], write: impl Fn(f64) -> String) -> Vec<String> {
    modes.iter().map(|mode| format!("{} in {}", write(mode.mean), percent(mode.weight))).collect()
}

/// Chooses the SI step for a magnitude: the divisor, and the unit with the prefix.
fn prefixed(largest: f64, unit: &str, steps: &[(f64, &str)]) -> (f64, String) {
    if largest >= TOO_LONG * SI[0].0 {
        // Larger than any prefix: written as a power of ten.
        return (1.0, unit.to_owned());
    }
    let smallest = if largest > 0.0 { steps.last() } else { None };
    let step = steps.iter().find(|(step, _)| largest >= *step).or(smallest);
    let (step, prefix) = step.copied().unwrap_or(SI[3]);
    (step, format!("{prefix}{unit}"))
}

/// A single figure with its unit, three significant digits.
pub fn figure(value: f64, unit: Unit) -> String {
    Scale::new(unit, value, 3).figure(value)
}

/// A relative change in percent: `+12%`, `-0.34%`, `0.00%`.
pub fn change(fraction: f64) -> String {
    let sign = if fraction < 0.0 { "-" } else { "+" };
    unsigned_zero(format!("{sign}{}", percent(fraction.abs())))
}

/// Both ends of an interval of changes, `-12.4% to -11.9%`: two digits, or as many more as are needed to distinguish
/// the ends.
pub fn changes(ci: Interval) -> String {
    ends(ci, change, |value, decimals| unsigned_zero(format!("{:+.decimals$}%", 100.0 * value)))
}

/// Both ends of an interval of ratios, `1.94x to 2.1x`, with as many digits as are needed to distinguish the ends, and
/// from 1 if it is not in the interval.
pub fn times_between(ci: Interval) -> String {
    let short = |value| if ci.contains(1.0) { times(value) } else { times_off_one(value) };
    ends(ci, short, |value, decimals| format!("{value:.decimals$}x"))
}

/// A ratio with as many digits as are needed to distinguish it from 1: `1.0004x`.
pub fn times_off_one(ratio: f64) -> String {
    let short = times(ratio);
    if ratio == 1.0 || short != times(1.0) {
        return short;
    }
    let longer = (3..=MOST_DECIMALS).map(|decimals| format!("{ratio:.decimals$}x"));
    let is_one = |text: &String| text.trim_end_matches('x').parse() == Ok(1.0);
    longer.into_iter().find(|text| !is_one(text)).unwrap_or(short)
}

fn ends(ci: Interval, short: impl Fn(f64) -> String, precise: impl Fn(f64, usize) -> String) -> String {
    let written = |write: &dyn Fn(f64) -> String| [write(ci.low), write(ci.high)];
    let [low, high] = written(&short);
    if low != high {
        return format!("{low} to {high}");
    }
    let longer = (1..=4).map(|decimals| written(&|value| precise(value, decimals)));
    longer.into_iter().find(|[low, high]| low != high).map_or(low, |[low, high]| format!("{low} to {high}"))
}

/// An interval of ratios as an interval of changes.
pub fn changes_of(ratio: Interval) -> String {
    changes(Interval { low: ratio.low - 1.0, high: ratio.high - 1.0 })
}

/// A ratio: `5.1x`, `1.04x`, `12x`.
pub fn times(ratio: f64) -> String {
    times_with(ratio, ratio_decimals(ratio))
}

/// Whether two figures, as [`figure`] prints them, divide to a ratio as [`times`] prints it, written with its digits.
pub fn divide_as_printed(figures: [f64; 2], unit: Unit, ratio: f64) -> bool {
    let [high, low] = figures.map(|value| Scale::new(unit, value, 3).printed(value));
    // A quotient in the middle, such as 1.505, may be rounded either way.
    [1.0 - 1e-9, 1.0 + 1e-9].iter().any(|side| times_with(side * high / low, ratio_decimals(ratio)) == times(ratio))
}

fn ratio_decimals(ratio: f64) -> usize {
    match ratio.abs() {
        size if size >= 9.95 => 0,
        size if size >= 1.95 => 1,
        // Two digits, however small it is.
        size if size > 0.0 && size < 0.0995 => (1.0 - size.log10().floor()) as usize,
        _ => 2,
    }
}

fn times_with(ratio: f64, decimals: usize) -> String {
    match decimals {
        _ if ratio.abs() >= TOO_LONG => format!("{ratio:.2e}x"),
        too_many if too_many > MOST_DECIMALS => format!("{ratio:.1e}x"),
        decimals => format!("{ratio:.decimals$}x"),
    }
}

/// Whether the mean is known: half of its interval is no larger than the mean.
pub fn is_known(mean: f64, interval: Interval) -> bool {
    interval.width() / 2.0 <= mean.abs()
}

/// Half of an interval as a share of its mean: `±3.2%`; `±?` if it exceeds the mean, which is then unknown.
pub fn half_width(half: f64) -> String {
    if half <= 1.0 { format!("±{}", percent(half)) } else { "±?".to_owned() }
}

/// A p-value as text, never 0.
pub fn chance(p_value: f64) -> String {
    match p_value {
        p if p < 0.001 => "< 0.001".to_owned(),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_units_and_three_digits() {
        assert_eq!(figure(66_000.0, Unit::PerS), "66.0 k/s");
        assert_eq!(figure(1_620_000.0, Unit::PerS), "1.62 M/s");
        assert_eq!(figure(0.5, Unit::PerS), "0.500 /s");
        assert_eq!(figure(12_345.0, Unit::PerMin), "12.3 k/min");
        assert_eq!(figure(0.1234, Unit::Ms), "0.123 ms");
        assert_eq!(figure(12.5, Unit::Ms), "12.5 ms");
        assert_eq!(figure(4.8, Unit::Ns), "4.80 ns");
        assert_eq!(figure(3600.0, Unit::S), "3600 s");
        assert_eq!(figure(1.5 * 1024.0 * 1024.0, Unit::Bytes), "1.50 MiB");
        assert_eq!(figure(0.012, Unit::Fraction), "1.20%");
        assert_eq!(figure(0.0, Unit::PerS), "0.00 /s");
        assert_eq!([figure(999.6, Unit::PerS), figure(999.4, Unit::PerS)], ["1.00 k/s", "999 /s"]);
        assert_eq!([figure(9.996, Unit::Ms), figure(0.999_6e-3, Unit::S)], ["10.0 ms", "1.00 ms"]);
        assert_eq!([figure(1_048_575.0, Unit::Bytes), figure(0.099_96, Unit::Fraction)], ["1.00 MiB", "10.0%"]);
        assert_eq!([figure(f64::NAN, Unit::Ms), figure(f64::INFINITY, Unit::Plain)], ["NaN ms", "inf"]);
        assert_eq!(figure(12_345.0, Unit::Plain), "12.3 k");
        assert_eq!(figure(1e300, Unit::PerS), "1.00e300 /s");
        assert_eq!([figure(f64::MAX, Unit::S), figure(-2.5e40, Unit::Plain)], ["1.80e308 s", "-2.50e40"]);
        assert_eq!([figure(12_345_678.0, Unit::Ns), figure(1e13, Unit::Ns)], ["12345678 ns", "1.00e13 ns"]);
        assert_eq!([figure(1e-9, Unit::PerS), figure(-3.21e-300, Unit::Plain)], ["1.00e-9 /s", "-3.21e-300"]);
        assert_eq!(times(1e300), "1.00e300x");
    }

    #[test]
    fn a_column_has_one_scale() {
        let scale = Scale::new(Unit::PerS, 66_000.0, 4);
        assert_eq!(scale.unit, "k/s");
        assert_eq!(scale.number(66_000.0), "66.00");
        assert_eq!(scale.number(950.0), "0.95");
        assert_eq!(scale.number(-0.001), "0.00");
    }

    #[test]
    fn a_conditions_own_figure_has_two_digits_however_small_it_is_next_to_others() {
        let scale = Scale::new(Unit::PerS, 66_000.0, 4);
        assert_eq!(
            [66_000.0, 950.0, 13.1, 6.6, 0.0].map(|tps| scale.value(tps)),
            ["66.00", "0.95", "0.013", "0.0066", "0.00"]
        );
        assert_eq!(scale.middle(Middle::Range(6.6, 13.1)), ["0.0066 to 0.013"]);
        assert_eq!(scale.mean(13.1, Some(Interval { low: 12.1, high: 14.1 })), "0.013 ± 0.001");
        assert_eq!(scale.value(1e-9), "1.00e-12");
    }

    #[test]
    fn a_mean_has_half_of_its_interval_unless_it_is_not_known() {
        let scale = Scale::new(Unit::PerS, 86_000.0, 3);
        let interval = |low, high| Some(Interval { low, high });
        assert_eq!(scale.mean(86_000.0, None), "86.0");
        assert_eq!(scale.mean(86_000.0, interval(84_000.0, 88_000.0)), "86.0 ± 2.0");
        assert_eq!(scale.mean(86_000.0, interval(1_000.0, 1e12)), "86.0 ± ?");
        assert_eq!(scale.mean(86_000.0, interval(85_988.0, 86_012.0)), "86.0 ± 0.012");
        assert_eq!(scale.ends(86_000.0, interval(84_000.0, 88_000.0)), ["84.0", "88.0"]);
        assert_eq!(scale.ends(86_000.0, interval(1_000.0, 1e12)), ["?", "?"]);
        assert_eq!(scale.ends(86_000.0, None), ["–", "–"]);
        assert_eq!(scale.mean(0.0, interval(0.0, 0.0)), "0.0 ± 0.0");
    }

    #[test]
    fn a_mean_that_describes_no_trial_is_not_written() {
        let scale = Scale::new(Unit::PerS, 86_000.0, 3);
        let modes = [(66_000.0, 0.4), (86_000.0, 0.6)].map(|(mean, weight)| Mode { mean, weight });
        let interval = Some(Interval { low: 70_000.0, high: 80_000.0 });
        assert_eq!(scale.middle(Middle::Modes(&modes)), ["66.0 in 40%", "86.0 in 60%"]);
        assert_eq!(scale.middle(Middle::Range(66_000.0, 86_000.0)), ["66.0 to 86.0"]);
        assert_eq!(scale.middle(Middle::Mean(78_000.0, interval)), ["78.0 ± 5.0"]);
        assert_eq!(scale.middle_figure(78_000.0, &modes), ["66.0 k/s in 40%", "86.0 k/s in 60%"]);
        assert_eq!(scale.middle_figure(78_000.0, &[]), ["78.0 k/s"]);
    }

    #[test]
    fn ratios_and_percentages_are_short() {
        assert_eq!(times(5.08), "5.1x");
        assert_eq!(times(1.041), "1.04x");
        assert_eq!(times(23.0), "23x");
        assert_eq!(
            [0.0994, 0.0996, 0.0341, 0.003, 1e-9, 0.0].map(times),
            ["0.099x", "0.10x", "0.034x", "0.0030x", "1.0e-9x", "0.00x"]
        );
        assert_eq!([half_width(0.032), half_width(1034.99)], ["±3.2%", "±?"]);
        assert_eq!(percent(0.0021), "0.21%");
        assert_eq!(percent(0.057), "5.7%");
        assert_eq!(percent(0.42), "42%");
        assert_eq!([change(0.12), change(-0.0034), change(-1e-9)], ["+12%", "-0.34%", "0.00%"]);
    }

    #[test]
    fn figures_divide_to_a_ratio_as_they_are_printed() {
        // 1.0154, which is written 1.02x, but the figures are 1.01 and 1.00 k/s.
        assert_eq!(times(1014.9 / 999.51), "1.02x");
        assert!(!divide_as_printed([1014.9, 999.51], Unit::PerS, 1.0154));
        assert!(divide_as_printed([1014.9, 999.51], Unit::PerS, 1.0112));
        // With the two decimals of 1.95x; by itself it is written 2.0x.
        assert_eq!([times(1.949), times(3980.0 / 2040.0)], ["1.95x", "2.0x"]);
        assert!(divide_as_printed([3980.0, 2040.0], Unit::PerS, 1.949));
        assert!([1.504, 1.506].iter().all(|ratio| divide_as_printed([30.1, 20.0], Unit::PerS, *ratio)));
        assert!(
            divide_as_printed([65_400.0, 13_000.0], Unit::PerS, 5.04)
                && divide_as_printed([1e300, 1.0], Unit::PerS, 1e300)
        );
    }

    #[test]
    fn two_ends_that_differ_are_written_so_that_they_differ() {
        let of = |low, high| changes(Interval { low, high });
        assert_eq!(of(-0.072, 0.05), "-7.2% to +5.0%");
        assert_eq!(of(-0.1231, -0.1187), "-12.3% to -11.9%");
        assert_eq!(of(-0.12034, -0.12031), "-12.034% to -12.031%");
        assert_eq!([of(-0.12, -0.12), of(0.0, 0.0)], ["-12%", "0.00%"]);
        assert_eq!(changes_of(Interval { low: 1.5, high: 2.0 }), "+50% to +100%");
        assert_eq!([of(-1e-6, 1e-6), of(-1e-9, 1e-9)], ["-0.0001% to +0.0001%", "0.00%"]);
        let of = |low, high| times_between(Interval { low, high });
        assert_eq!([of(1.0002, 1.0006), of(1.003, 1.05)], ["1.0002x to 1.001x", "1.003x to 1.05x"]);
        assert_eq!([of(0.998, 1.003), times_off_one(0.99996)], ["0.998x to 1.003x", "0.99996x"]);
        assert_eq!([of(1.5, 2.0), of(1.9981, 2.0012)], ["1.50x to 2.0x", "1.998x to 2.001x"]);
        assert_eq!([of(2.0, 2.0), of(1e300, 1e300)], ["2.0x", "1.00e300x"]);
    }

    #[test]
    fn no_p_value_is_written_as_zero() {
        assert_eq!([0.0, 0.0004, 0.02, 0.4, 1.0].map(chance), ["< 0.001", "< 0.001", "0.020", "0.40", "1.00"]);
    }
}
