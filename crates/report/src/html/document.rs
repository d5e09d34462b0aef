//! The frame of every page: no external resources, one style sheet, and one script without which pages work too.

use super::scroll::scroll;
use crate::charts::alone::characters_of_xml;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::borrow::Cow;

pub(super) fn figure(name: &str, drawing: &Markup) -> Markup {
    html! {
        figure {
            figcaption { (name) }
            (scroll(name, drawing))
        }
    }
}

/// A chart drawn in two sizes, of which the page shows the one that fits the screen.
pub(super) fn either(name: &str, wide: &Markup, slim: &Markup) -> Markup {
    html! {
        div.scroll.wide tabindex="0" role="region" aria-label=(name) { (wide) }
        div.small-screen { (slim) }
    }
}

const SCRIPT: &str = include_str!("script.js");

/// No external resource is loaded, whatever a results directory contains, and no script runs except the one with this
/// hash: text from outside could not run even if it were not escaped.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
     script-src 'sha256-OcoAIkmSuEe3FvBXUkppX9ElN0uWAeJhdLi0/QJgkVM='";

pub(super) fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) " - tare" }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body { (body) script { (PreEscaped(SCRIPT)) } }
        }
    }
    .into_string();
    match characters_of_xml(&page) {
        Cow::Owned(plain) => plain,
        Cow::Borrowed(_) => page,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_holds_what_steers_a_terminal() {
        let page = document("a\u{1b}[31m", &html! { p { "name\u{7}\tof\nany" } });
        assert!(page.contains("a\u{fffd}[31m - tare") && page.contains("name\u{fffd}\tof\nany"), "{page}");
    }
}
