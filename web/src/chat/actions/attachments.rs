//! The files and images that go with the next message.

use leptos::prelude::{document, window};
use palimpsest_core::message::{IMAGE_TOKENS, Part};
use palimpsest_engine::Session;
use palimpsest_engine::session::NewMessage;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{CanvasRenderingContext2d, File, HtmlCanvasElement, ImageBitmap};

use crate::act::{self, Back, contents, drafted, note, tokens_of, usual_model, with_engine};
use crate::platform::{page, pdf};
use crate::settings::data::connection::ModelEntry;
use crate::state::{AppState, Attached};
use crate::text::{T, bytes, fill, number, t};

/// The largest text file that goes with a message, in bytes.
const LARGEST_TEXT: u32 = 4_000_000;

/// The largest image or PDF file that is read, in bytes.
const LARGEST_IMAGE: u32 = 40_000_000;

/// The longest edge of an image that is sent, in pixels: models that run on one machine see no more of it.
const LONGEST_EDGE: f64 = 1_280.0;

/// The most bytes of an image that is sent.
const MOST_SENT: usize = 2_000_000;

/// The quality of a JPEG that is written here.
const QUALITY: f64 = 0.9;

/// Takes files along with the next message, texts or images, in their order.
pub(crate) fn attach(files: Vec<File>) {
    with_engine(|back| async move {
        // those that are chosen while a session is opened are its own
        let chosen_in = back.session().filter(|_| !back.opening.is_on());
        for file in files {
            if let Some(part) = read(&back, file).await {
                add(&back, chosen_in.as_ref(), part);
            }
        }
    });
}

/// Reads a file as a part of a message. The person is told why there is none.
async fn read(back: &Back, file: File) -> Option<Part> {
    let name = file.name();
    let is_image = file.type_().starts_with("image/") && file.type_() != "image/svg+xml";
    let is_pdf = file.type_() == "application/pdf";
    let (most, too_large) = if is_image {
        (LARGEST_IMAGE, T::ImageTooLarge)
    } else if is_pdf {
        (LARGEST_IMAGE, T::PdfTooLarge)
    } else {
        (LARGEST_TEXT, T::AttachTooLarge)
    };
    let size = file.size();
    if size > f64::from(most) {
        let text = fill(too_large, &[&name, &bytes(size), &bytes(f64::from(most))]);
        note(text, true);
        return None;
    }
    if is_image && refuses_images(back) {
        return None;
    }
    if is_pdf {
        let text = pdf::text(&file).await;
        let text = text.filter(|text| text.len() <= LARGEST_TEXT as usize);
        if text.is_none() {
            note(fill(T::PdfUnreadable, &[&name]), true);
        }
        return text.map(|text| Part::File { name, text });
    }
    let part = if is_image {
        image(&file).await
    } else {
        let text = contents(&file).await.ok();
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.filter(|text| !text.contains('\u{0}'));
        text.map(|text| Part::File {
            name: name.clone(),
            text,
        })
    };
    if part.is_none() {
        note(fill(T::AttachUnreadable, &[&name]), true);
    }
    part
}

/// Returns `true` if the open session's model is known to see no images, and tells the person so.
pub(crate) fn refuses_images(back: &Back) -> bool {
    let chosen = back.session().map(|session| session.head().model);
    let chosen = chosen.filter(|name| !name.is_empty());
    let Some(name) = chosen.or_else(|| usual_model(back.state)) else {
        return false;
    };
    let is_blind = back.state.models.with_untracked(|all| {
        let there = all.iter().find(|model| model.name == name);
        there.is_some_and(ModelEntry::is_blind)
    });
    if is_blind {
        note(fill(T::ModelIsBlind, &[&name]), true);
    }
    is_blind
}

/// Adds a part to those that go with the next message of the session it was `chosen_in`, which may have been left while the file was
/// read.
fn add(back: &Back, chosen_in: Option<&Session>, part: Part) {
    let state = back.state;
    let is_left = |session: &&Session| back.opening.is_on() || !back.shows(session);
    if let Some(left) = chosen_in.filter(is_left) {
        let mut unsent = back.unsent.borrow_mut();
        let id = left.id().to_owned();
        let mut all = unsent.remove(&id).unwrap_or_default();
        join(&mut all, counted(back, part));
        unsent.insert(id, all);
        return;
    }
    state.attached.update(|all| {
        join(all, counted(back, part));
        let name = all.last().map_or("", |one| name_of(&one.part));
        state.say(fill(T::Attached, &[name]));
    });
    drafted(page::value("#msg"));
}

/// Adds a file to others. A text file replaces one of the same name; an image gets a name of its own, since everything that is
/// pasted has the same.
fn join(all: &mut Vec<Attached>, mut new: Attached) {
    if let Part::Image { name, .. } = &mut new.part {
        let taken = |wanted: &str| all.iter().any(|one| name_of(&one.part) == wanted);
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
        let numbered = (2..).map(|n| format!("{stem} {n}.{ending}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        *name = names.find(|name| !taken(name)).unwrap_or_default();
    } else {
        all.retain(|one| name_of(&one.part) != name_of(&new.part));
    }
    all.push(new);
}

/// Counts a part, once: a file may be large, and the draft is counted at every rest.
pub(crate) fn counted(back: &Back, part: Part) -> Attached {
    let tokens = match &part {
        Part::Image { .. } => IMAGE_TOKENS,
        part => tokens_of(back.session().as_ref(), part.words()),
    };
    Attached { part, tokens }
}

/// The name of a file or an image.
pub fn name_of(part: &Part) -> &str {
    match part {
        Part::File { name, .. } | Part::Image { name, .. } => name,
        _ => "",
    }
}

/// Leaves an attached file out again.
pub fn detach(name: &str) {
    if let Some(state) = AppState::remembered() {
        state
            .attached
            .update(|all| all.retain(|one| name_of(&one.part) != name));
        drafted(page::value("#msg"));
    }
}

/// The words with what was attached, each a part of its own.
pub(crate) fn with_attached(state: AppState, text: String) -> NewMessage {
    let mut message = NewMessage::user(text);
    let attached = state.attached.get_untracked().into_iter();
    message.parts.extend(attached.map(|one| one.part));
    state.attached.set(Vec::new());
    message
}

/// The files and images of a message.
pub(crate) fn attached_to(parts: &[Part]) -> Vec<Part> {
    let parts = parts.iter();
    let attached = parts.filter(|part| matches!(part, Part::File { .. } | Part::Image { .. }));
    attached.cloned().collect()
}

/// Reads an image. A PNG or JPEG of a moderate size goes as it is; any other is drawn anew, in the form that every server reads.
async fn image(file: &File) -> Option<Part> {
    let drawing = window().create_image_bitmap_with_blob(file).ok()?;
    let bitmap: ImageBitmap = JsFuture::from(drawing).await.ok()?.unchecked_into();
    let (width, height) = (f64::from(bitmap.width()), f64::from(bitmap.height()));
    let scale = (LONGEST_EDGE / width.max(height)).min(1.0);
    let kind = file.type_();
    let is_plain = matches!(kind.as_str(), "image/png" | "image/jpeg");
    if is_plain && scale >= 1.0 && file.size() <= MOST_SENT as f64 {
        let bytes = contents(file).await.ok()?;
        let letters: String = bytes.iter().map(|&byte| char::from(byte)).collect();
        return Some(part(file, &kind, window().btoa(&letters).ok()?));
    }
    let canvas = document().create_element("canvas").ok()?;
    let canvas: HtmlCanvasElement = canvas.unchecked_into();
    let edge = |pixels: f64| (pixels * scale).round().max(1.0);
    canvas.set_width(edge(width) as u32);
    canvas.set_height(edge(height) as u32);
    let pen = canvas.get_context("2d").ok()??;
    let pen: CanvasRenderingContext2d = pen.unchecked_into();
    // a model sees black where an image is transparent, and dark letters with it
    pen.set_fill_style_str("white");
    pen.fill_rect(0.0, 0.0, edge(width), edge(height));
    pen.draw_image_with_image_bitmap_and_dw_and_dh(&bitmap, 0.0, 0.0, edge(width), edge(height))
        .ok()?;
    // letters stay sharp in a PNG; what was lossy before may be so again
    let kinds = ["image/png", "image/jpeg"];
    let lossless = matches!(kind.as_str(), "image/png" | "image/gif" | "image/bmp");
    let written = kinds.iter().skip(usize::from(!lossless)).find_map(|kind| {
        let url = canvas.to_data_url_with_type_and_encoder_options(kind, &JsValue::from(QUALITY));
        let data = url.ok()?.split_once("base64,")?.1.to_owned();
        // base64 has four letters for three bytes
        let fits = data.len() / 4 * 3 <= MOST_SENT;
        (fits || *kind == "image/jpeg").then(|| part(file, kind, data))
    })?;
    if scale < 1.0 {
        let sides = [edge(width), edge(height), width, height].map(|side| number(side as u32));
        let [a, b, c, d] = &sides;
        note(fill(T::ImageSmaller, &[&file.name(), a, b, c, d]), false);
    }
    Some(written)
}

fn part(file: &File, media_type: &str, data: String) -> Part {
    let name = file.name();
    Part::Image {
        name: if name.is_empty() {
            t(T::Image).to_owned()
        } else {
            name
        },
        media_type: media_type.to_owned(),
        data,
        tokens: None,
    }
}

/// The address of an image of the open session that a page can show: the part `part` of the message with the number `place`. One
/// that is only linked is not loaded.
pub fn image_at(place: u32, part: usize) -> Option<String> {
    let session = act::back()?.session()?;
    let item = session.history(Some(place), 1).pop()?;
    address_of(item.message.parts.get(part)?)
}

/// The address of an image whose bytes are there.
pub fn address_of(part: &Part) -> Option<String> {
    match part {
        Part::Image {
            media_type, data, ..
        } if media_type.starts_with("image/") => {
            if data.starts_with("data:image/") {
                Some(data.clone())
            } else {
                let is_data = !data.is_empty() && !data.contains(':');
                is_data.then(|| format!("data:{media_type};base64,{data}"))
            }
        }
        _ => None,
    }
}
