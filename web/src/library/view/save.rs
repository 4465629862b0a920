//! The dialog that saves the open session as a file.

use leptos::prelude::AnyView;

use crate::act;
use crate::library::data::export::Format;
use crate::platform::el::{El, el};
use crate::state::AppState;
use crate::text::{T, t};
use crate::widgets::dialog::{PLAIN, frame, then_close};

/// The forms, each with what it is good for.
const FORMS: [(Format, T, T); 7] = [
    (Format::Markdown, T::SaveMarkdown, T::SaveMarkdownFor),
    (Format::Lines, T::SaveLines, T::SaveLinesFor),
    (Format::Json, T::SaveJson, T::SaveJsonFor),
    (Format::Session, T::SaveSession, T::SaveSessionFor),
    (Format::Log, T::SaveLog, T::SaveLogFor),
    (Format::Request, T::SaveRequest, T::SaveRequestFor),
    (Format::System, T::SaveSystem, T::SaveSystemFor),
];

/// A choice of forms.
pub fn save(state: AppState) -> AnyView {
    let form = |(format, name, used): (Format, T, T)| -> El {
        el("div")
            .child(el("dt").child(then_close(state, name, PLAIN, move || {
                act::export_session(format);
            })))
            .child(el("dd").class("sub").child(t(used)))
    };
    let forms = el("dl").class("forms").children(FORMS.map(form));
    frame(state, t(T::SaveAs).to_owned(), forms)
}
