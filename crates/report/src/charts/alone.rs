//! A chart of the page as a separate picture: with the page's style rules inside, and light colours in place of
//! variables, because programs that draw SVG may not support CSS variables.

use std::borrow::Cow;

const STYLE: &str = include_str!("../html/style.css");

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

/// The page's style rules for elements of charts, with variables resolved.
fn rules() -> String {
    let variables =
        STYLE.split_once(":root{").and_then(|(_, rest)| rest.split_once('}')).map_or("", |(block, _)| block);
    let variables: Vec<(&str, &str)> = variables.split(';').filter_map(|pair| pair.trim().split_once(':')).collect();
    let mut text: String = flat(STYLE)
        .into_iter()
        .filter(|(selector, _)| {
            let first = selector.split([' ', '.', ',']).next().unwrap_or("");
            matches!(first, "svg" | "path" | "rect" | "text" | "circle" | "line")
                || [".m", ".trial", ".client", ".server"].iter().any(|class| selector.starts_with(class))
        })
        .filter(|(selector, _)| *selector != "svg.chart" && !selector.starts_with(".machines"))
        .map(|(selector, body)| format!("{selector}{{{body}}}"))
        .collect();
    for (name, value) in variables {
        text = text.replace(&format!("var({name})"), value);
    }
    text.replace("font-family:inherit", "font-family:\"DejaVu Sans\",\"Liberation Sans\",Arial,sans-serif")
}

/// Selector and body of every rule outside media queries.
fn flat(css: &str) -> Vec<(&str, &str)> {
    let mut rules = Vec::new();
    let mut rest = css;
    while let Some((selector, after)) = rest.split_once('{') {
        let selector = selector.trim();
        if selector.starts_with('@') {
            let mut depth = 1;
            let end = after.find(|c: char| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                depth == 0
            });
            rest = end.map_or("", |end| &after[end + 1..]);
        } else {
            let (body, next) = after.split_once('}').unwrap_or((after, ""));
            rules.push((selector, body));
            rest = next;
        }
    }
    rules
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
