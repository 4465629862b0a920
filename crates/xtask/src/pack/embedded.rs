//! What the app's page has and a mounted app must bring itself: its styles and its icons.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

/// Rules that only a mounted app has. The `frame` is what its size is measured by, in place of the page.
const FRAME: &str = "\
:host { all: initial; display: block; height: 100%; min-height: 0 }
.frame { height: 100%; container-type: size; contain: layout paint; position: relative }
.palimpsest { height: 100%; overflow: hidden }
@container (max-width: 24rem) {
  .model { flex-wrap: wrap; gap: 0 var(--s3) } .model .live { margin-inline-start: 0 !important }
}
.palimpsest[data-without~=sidebar] :is(.side, .bottom) { display: none !important }
.palimpsest[data-without~=sidebar] .app { grid-template: minmax(0, 1fr) / minmax(0, 1fr) !important }
.palimpsest[data-without~=inspector] :is(.notes, .notes-open) { display: none !important }
.palimpsest[data-without~=inspector] .screen.chat { grid-template-columns: minmax(0, 1fr) !important }
.palimpsest[data-without~=settings] [href='#settings'] { display: none !important }
.palimpsest[data-colours=vscode] {
  --paper: var(--vscode-sideBar-background, var(--vscode-editor-background));
  --paper-2: var(--vscode-editorWidget-background, var(--paper)); --paper-3: var(--vscode-list-hoverBackground, var(--paper-2));
  --ink: var(--vscode-foreground); --ink-2: var(--vscode-descriptionForeground); --ghost: var(--vscode-descriptionForeground);
  --rule: var(--vscode-widget-border, var(--vscode-panel-border)); --rule-strong: var(--vscode-input-border, var(--vscode-descriptionForeground));
  --seg-line: var(--vscode-descriptionForeground); --focus: var(--vscode-focusBorder); --danger: var(--vscode-errorForeground);
  --sans: var(--vscode-font-family); --mono: var(--vscode-editor-font-family, monospace);
}
";

/// The app's styles for a shadow root: its root is the element that we are mounted in, and its width is that of the frame.
pub(super) fn css(app: &str) -> Result<String> {
    let mut css = String::new();
    for (at, line) in app.lines().enumerate() {
        let mut line = line
            .replace(":root", ".palimpsest")
            .replace("@media (max-width:", "@container (max-width:")
            .replace("dvh", "cqh");
        if let Some(rest) = line.strip_prefix("body {") {
            line = format!(".palimpsest {{{rest}");
        }
        for outside in ["html", "body"] {
            let is_word = line
                .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '.' && c != '#')
                .any(|word| word == outside);
            ensure!(
                !is_word,
                "app.css, line {}: a mounted app has no {outside}",
                at + 1
            );
        }
        css.push_str(&line);
        css.push('\n');
    }
    ensure!(
        css.contains("@container (max-width:") && css.contains(".palimpsest {"),
        "app.css is written otherwise than its embedding expects"
    );
    Ok(css + FRAME)
}

/// The page's icons as a JavaScript module: no markup, so that a page with Trusted Types can make them.
///
/// `[[id, viewBox, [[element, attributes], …]], …]`
pub(super) fn sprite(page: &str) -> Result<String> {
    let mut symbols = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("<symbol ") {
        let (symbol, after) = after
            .split_once("</symbol>")
            .context("a symbol of index.html has no end")?;
        let (head, inside) = symbol
            .split_once('>')
            .context("a symbol of index.html is not closed")?;
        let head = attributes(head)?;
        let mut shapes = Vec::new();
        for shape in inside.split('<').skip(1) {
            let shape = shape.trim_end().strip_suffix("/>");
            let shape = shape.context("a shape of a symbol has something inside")?;
            let (name, given) = shape.split_once(' ').unwrap_or((shape, ""));
            shapes.push(json!([name, attributes(given)?]));
        }
        let [Some(id), Some(view_box)] = ["id", "viewBox"].map(|name| head.get(name)) else {
            bail!("a symbol of index.html has no id or no viewBox");
        };
        symbols.push(json!([id, view_box, shapes]));
        rest = after;
    }
    ensure!(!symbols.is_empty(), "index.html has no symbols");
    let mut module = String::new();
    writeln!(module, "export default {};", Value::Array(symbols))?;
    Ok(module)
}

/// The types of what [`sprite`] makes.
pub(super) const SPRITE_TYPES: &str = "/** The icons: identifier, box, and the shapes with their attributes. */
declare const symbols: [id: string, viewBox: string, shapes: [name: string, attributes: Record<string, string>][]][];
export default symbols;
";

fn attributes(text: &str) -> Result<Map<String, Value>> {
    let mut all = Map::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let Some((name, value)) = rest.split_once("=\"") else {
            bail!("an attribute without a value: {rest}");
        };
        let (value, after) = value
            .split_once('"')
            .with_context(|| format!("the value of {name} has no end"))?;
        all.insert(name.trim().into(), value.into());
        rest = after.trim_start();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is the page's own becomes the mounted element's; what asks for the window's width asks for the frame's.
    #[test]
    fn styles_are_those_of_a_guest() {
        let app = ":root { --a: 1 }\nbody { margin: 0 }\n@media (max-width: 48rem) { .app { height: 100dvh } }\n\
            @media (prefers-contrast: more) { :root:not([data-contrast]) { --a: 2 } }\n.body p { margin: 0 }\n";
        let made = css(app).unwrap();
        assert!(made.starts_with(
            ".palimpsest { --a: 1 }\n.palimpsest { margin: 0 }\n\
             @container (max-width: 48rem) { .app { height: 100cqh } }\n\
             @media (prefers-contrast: more) { .palimpsest:not([data-contrast]) { --a: 2 } }\n.body p { margin: 0 }\n:host"
        ));
        assert!(css("html { margin: 0 }").is_err());
        assert!(css(".a { margin: 0 }").is_err());
    }

    #[test]
    fn icons_are_data() {
        let page = "<svg>\n  <symbol id=\"i-a\" viewBox=\"0 0 16 16\"><path d=\"M1 1\"/><circle cx=\"8\" r=\"2\"/></symbol>\n</svg>";
        assert_eq!(
            sprite(page).unwrap(),
            "export default [[\"i-a\",\"0 0 16 16\",[[\"path\",{\"d\":\"M1 1\"}],[\"circle\",{\"cx\":\"8\",\"r\":\"2\"}]]]];\n"
        );
        assert!(sprite("<svg></svg>").is_err());
        assert!(sprite("<symbol id=\"a\"><g><path/></g></symbol>").is_err());
    }

    /// The app's very own page and styles are written so that this can be done with them.
    #[test]
    fn the_apps_own_can_be_made() {
        let web = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
        let page = std::fs::read_to_string(web.join("index.html")).unwrap();
        let icons: Value = serde_json::from_str(
            sprite(&page)
                .unwrap()
                .strip_prefix("export default ")
                .and_then(|text| text.strip_suffix(";\n"))
                .unwrap(),
        )
        .unwrap();
        assert_eq!(
            icons.as_array().unwrap().len(),
            page.matches("<symbol").count()
        );
        let styles = std::fs::read_to_string(web.join("public/app.css")).unwrap();
        let made = css(&styles).unwrap();
        assert!(!made.contains(":root") && !made.contains("dvh"));
    }
}
