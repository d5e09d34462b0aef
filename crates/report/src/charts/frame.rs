//! Where the plot of a chart lies: with the names of its lines next to it, or below it on a screen as wide as a hand.

/// Left and right of a drawing, pixels.
pub struct Frame {
    pub width: f64,
    /// Ends of the plot itself.
    pub left: f64,
    pub right: f64,
    /// Whether names stand below the plot.
    pub slim: bool,
}

impl Frame {
    /// For pages of the usual width.
    pub const WIDE: Self = Self { width: 960.0, left: 70.0, right: 700.0, slim: false };
    /// The same without names.
    pub const ALONE: Self = Self { right: 945.0, ..Self::WIDE };
    /// For small screens.
    pub const SLIM: Self = Self { width: 340.0, left: 52.0, right: 332.0, slim: true };

    /// CSS classes of the drawing.
    pub fn class(&self) -> &'static str {
        if self.slim { "chart slim" } else { "chart" }
    }
}
