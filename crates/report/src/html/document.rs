//! What every page of tare is wrapped in: nothing loaded, one style, one script of ours that pages do without.

use super::scroll::scroll;
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub(super) fn figure(name: &str, drawing: &Markup) -> Markup {
    html! {
        figure {
            figcaption { (name) }
            (scroll(name, drawing))
        }
    }
}

/// A chart drawn twice, of which the page shows the one that the screen has room for.
pub(super) fn either(name: &str, wide: &Markup, slim: &Markup) -> Markup {
    html! {
        div.scroll.wide tabindex="0" role="region" aria-label=(name) { (wide) }
        div.small-screen { (slim) }
    }
}

const SCRIPT: &str = include_str!("script.js");

/// Nothing is ever loaded, whatever a results directory holds, and no script runs but the one with this hash: what
/// comes from outside could not run even if it were not escaped.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
     script-src 'sha256-Q0+D/qVClcownY1BsHIdVOKoiW1N9XqmXxYtr+bUBdY='";

pub(super) fn document(title: &str, body: &Markup) -> String {
    html! {
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
    .into_string()
}
