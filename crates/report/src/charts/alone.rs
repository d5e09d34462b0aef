//! A chart of the page as a separate picture: with the page's style rules inside, and light colours in place of
//! variables, because programs that draw SVG may not support CSS variables.

use std::borrow::Cow;

/// The light colours, and then one rule after the other.
pub(crate) const STYLE: &str = include_str!("../html/chart.css");

/// Turns an `svg` element into a complete document with a white background.
pub(crate) fn standalone(svg: &str) -> String {
    let svg = characters_of_xml(svg);
    let Some((head, rest)) = svg.split_once('>') else {
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"></svg>\n".to_owned();
    };
    let size = head.split_once("viewBox=\"0 0 ").and_then(|(_, rest)| rest.split_once('"'));
    let (width, height) = size.and_then(|(size, _)| size.split_once(' ')).unwrap_or(("960", "600"));
    let head = head.replacen("<svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"", 1);
    // Elements with a size set on the page get the size of their drawing here.
    let head = without(&without(&head, " width=\""), " height=\"");
    format!(
        "{head} width=\"{width}\" height=\"{height}\"><style>{}</style>\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\" stroke=\"none\"/>{rest}\n",
        rules()
    )
}

/// The start tag of an element without an attribute; the attribute is given by its beginning.
fn without(head: &str, attribute: &str) -> String {
    let parts = head.split_once(attribute).and_then(|(before, rest)| Some((before, rest.split_once('"')?.1)));
    parts.map_or_else(|| head.to_owned(), |(before, after)| format!("{before}{after}"))
}

/// Replaces characters that XML 1.0 (section 2.2) cannot represent, with which a picture is invalid; in HTML they are
/// errors, and would control the terminal that shows the page.
pub(crate) fn characters_of_xml(text: &str) -> Cow<'_, str> {
    let not_allowed = |c: char| c < ' ' && !matches!(c, '\t' | '\n' | '\r') || matches!(c, '\u{fffe}' | '\u{ffff}');
    match text.contains(not_allowed) {
        true => Cow::Owned(text.replace(not_allowed, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// The style rules of charts, with variables resolved to their light colours.
fn rules() -> String {
    let (variables, rules) = STYLE.strip_prefix(":root{").and_then(|css| css.split_once('}')).unwrap_or_default();
    let variables = variables.split(';').filter_map(|pair| pair.trim().split_once(':'));
    let resolved =
        variables.fold(rules.replace('\n', ""), |text, (name, value)| text.replace(&format!("var({name})"), value));
    resolved.replace("font-family:inherit", "font-family:\"DejaVu Sans\",\"Liberation Sans\",Arial,sans-serif")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_alone_needs_nothing_of_the_page() {
        let text =
            standalone("<svg class=\"chart\" viewBox=\"0 0 960 172\"><path class=\"m0\" d=\"M0 0\"></path></svg>");
        assert!(text.contains("xmlns=") && text.contains("width=\"960\" height=\"172\""), "{text}");
        assert!(text.contains(".m0{fill:#0b68b3") && !text.contains("var("), "{text}");
        assert!(!text.contains("@media") && !text.contains("body{"), "{text}");
    }

    #[test]
    fn characters_that_xml_cannot_hold_are_replaced() {
        let text = standalone("<svg class=\"chart\"><title>a\u{1}b\u{ffff}c\td</title></svg>");
        assert!(text.contains("<title>a\u{fffd}b\u{fffd}c\td</title>"), "{text}");
    }
}
