//! The position of the plot in a chart: with the names of its lines next to it, or below it on a phone screen.

/// Maximum characters of a name next to a plot.
pub(crate) const LETTERS: usize = 36;
/// Average width of a character, and width of a name's mark and leader with some room for wide characters, in pixels.
pub(crate) const LETTER: f64 = 6.4;
const MARK: f64 = 56.0;

/// Left and right of a drawing, in pixels.
pub(crate) struct Frame {
    pub width: f64,
    /// Left and right end of the plot itself.
    pub left: f64,
    pub right: f64,
    pub slim: bool,
}

impl Frame {
    /// As wide as a phone in portrait orientation, so that characters have the size of the text around the chart.
    pub(crate) const SLIM: Self = Self { width: 340.0, left: 52.0, right: 332.0, slim: true };
    /// For pages of normal width, without names.
    pub(crate) const WIDE: Self = Self { width: 960.0, left: 70.0, right: 945.0, slim: false };

    /// For pages of normal width: names have as much room next to the plot as the longest of them needs.
    pub(crate) fn wide<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let longest = names.map(|name| name.chars().count().min(LETTERS)).max();
        let right = longest.map_or(Self::WIDE.right, |letters| Self::WIDE.width - MARK - LETTER * letters as f64);
        Self { right, ..Self::WIDE }
    }

    pub(crate) fn class(&self) -> &'static str {
        if self.slim { "chart slim" } else { "chart" }
    }
}
