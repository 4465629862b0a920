//! A person's hands on the window: layers are read, compared, edited and lifted, results are sent whole again, the watermark is set.

use palimpsest_engine::error::EngineError;
use palimpsest_engine::session::IfOver;

use crate::act::{failed, list, note, show_all, toast, with_engine, with_writer};
use crate::context::data::bind;
use crate::state::{AppState, Dialog, Undo};
use crate::text::{T, fill, number, t};

/// Opens a dialog about the layer that people see under that number.
pub(crate) fn with_layer(number: u32, dialog: Dialog) {
    let Some(state) = AppState::remembered() else {
        return;
    };
    let found = state
        .layers
        .with_untracked(|all| all.iter().find(|l| l.number == number).cloned());
    match found {
        Some(layer) => {
            state.layer.set(Some(layer));
            state.dialog.set(Some(dialog));
        }
        None => note(fill(T::NoLayer, &[&number.to_string()]), true),
    }
}

/// Puts a person's words in place of a layer's text. The note offers to take that back.
pub(crate) fn edit_layer(id: u32, text: String) {
    with_writer(move |back, session| async move {
        match session.edit_layer(id, &text, IfOver::Refuse).await {
            Ok(_) => {
                show_all(&back).await;
                list(&back).await;
                let text = fill(T::LayerEdited, &[&number(session.budget().used.tokens)]);
                back.state.say(text.clone());
                toast(&back, text, Some(Undo::Window), false);
            }
            Err(EngineError::Core(error)) if error.code() == "empty_record" => {
                note(t(T::LayerEmpty).to_owned(), true);
            }
            Err(error) => failed(&back, &error),
        }
    });
}

/// Keeps messages whole before the watermark, or no longer. Both places are included.
pub(crate) fn anchor(from: u32, to: u32, on: bool) {
    with_writer(move |back, session| async move {
        for seq in from.saturating_sub(1)..to {
            let done = if on {
                session.anchor(seq).await
            } else {
                session.release(seq).await
            };
            if let Err(error) = done {
                failed(&back, &error);
                break;
            }
        }
        show_all(&back).await;
    });
}

/// Sets the watermark at the present end of the conversation.
pub(crate) fn mark_end() {
    with_writer(|back, session| async move {
        match session.mark_end().await {
            Ok(()) => back.state.say(t(T::MarkSet)),
            Err(error) => failed(&back, &error),
        }
        show_all(&back).await;
    });
}

/// Has tool results sent whole again, of which the model was sent a reference. Those before one that does not fit come back.
pub(crate) fn bring_results_back(places: Vec<u32>) {
    with_writer(move |back, session| async move {
        let mut refused = None;
        for seq in places.iter().filter_map(|place| place.checked_sub(1)) {
            if let Err(error) = session.bring_back(seq).await {
                refused = Some(error);
                break;
            }
        }
        show_all(&back).await;
        list(&back).await;
        match refused {
            Some(error) => failed(&back, &error),
            None => note(
                fill(T::ResultIsBack, &[&number(session.budget().used.tokens)]),
                false,
            ),
        }
    });
}

/// Removes a layer. Its messages are sent verbatim again.
pub(crate) fn lift(layer: u32, if_over: bool) {
    with_writer(move |back, session| async move {
        let if_over = if if_over {
            IfOver::Show
        } else {
            IfOver::Refuse
        };
        match session.lift_with(layer, if_over).await {
            Ok(()) => {
                show_all(&back).await;
                list(&back).await;
                let text = fill(T::Lifted, &[&number(session.budget().used.tokens)]);
                note(text, false);
            }
            Err(error @ EngineError::WouldNotFit { .. }) => {
                back.state.say(error.to_string());
                toast(
                    &back,
                    error.to_string(),
                    Some(Undo::LiftAll { layer }),
                    true,
                );
            }
            Err(error) => failed(&back, &error),
        }
    });
}

/// Asks before a layer is lifted: `number` is the one people see.
pub(crate) fn ask_lift(number: u32) {
    with_layer(number, Dialog::Lift);
}

/// Opens the text of a layer.
pub(crate) fn read_layer(id: u32) {
    show_layer(id, Dialog::Layer);
}

/// Opens the text of a layer beside its messages.
pub(crate) fn compare(id: u32) {
    show_layer(id, Dialog::Compare);
}

/// Opens a dialog about a layer, which need not stand in the window any more.
fn show_layer(id: u32, dialog: Dialog) {
    with_engine(move |back| async move {
        let Some(session) = back.session() else {
            return;
        };
        match session.layer(id).await {
            Ok(layer) => {
                back.state.layer.set(Some(bind::layer(&layer)));
                back.state.dialog.set(Some(dialog));
            }
            Err(error) => failed(&back, &error),
        }
    });
}
