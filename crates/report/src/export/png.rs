//! The dot plot as PNG: the SVG, drawn with the fonts of this machine.

use super::source::Source;
use super::svg;
use resvg::{tiny_skia, usvg};
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

/// Pixels per unit of the chart: sharp on screens and on paper.
const SCALE: f32 = 2.0;
/// Maximum width and height of a picture in pixels: viewers refuse more.
const LARGEST: f32 = 32_000.0;

#[derive(Debug, thiserror::Error)]
pub enum PngError {
    #[error("no font is installed for the labels; run: apt-get install fonts-dejavu-core, or export svg")]
    NoFont,
    #[error("the chart is {width} by {height} pixels, more than a PNG can have; export svg, or fewer conditions")]
    TooLarge { width: f32, height: f32 },
    #[error("the chart cannot be drawn: {0}")]
    Drawing(String),
}

pub(crate) fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let pixels = draw(&svg::text(source)).map_err(|error| io::Error::new(ErrorKind::Unsupported, error))?;
    out.write_all(&pixels)
}

pub fn draw(svg: &str) -> Result<Vec<u8>, PngError> {
    let mut fonts = fontdb::Database::new();
    fonts.load_system_fonts();
    // If no font family named by the chart is installed, any other is used.
    let any = fonts.faces().find_map(|face| Some(face.families.first()?.0.clone())).ok_or(PngError::NoFont)?;
    fonts.set_sans_serif_family(any);
    let options = usvg::Options { fontdb: Arc::new(fonts), ..Default::default() };
    let drawing = |error: &dyn std::fmt::Display| PngError::Drawing(error.to_string());
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| drawing(&e))?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let too_large = PngError::TooLarge { width, height };
    // A very long chart is not enlarged.
    let scale = if width.max(height) * SCALE > LARGEST { 1.0 } else { SCALE };
    if width.max(height) > LARGEST {
        return Err(too_large);
    }
    let pixels = |units: f32| (units * scale).ceil() as u32;
    let mut picture = tiny_skia::Pixmap::new(pixels(width), pixels(height)).ok_or(too_large)?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|e| drawing(&e))
}
