//! Every text of the page, in one table: English and German.
//!
//! `{}` in a text is filled by [`fill`], in order. Words follow the table of words in
//! ARCHITECTURE.md: a layer, a compaction, what was said, what the model sees.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::view::kept::Kept;

/// A language of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
}

impl Language {
    /// Its tag, as in the `lang` attribute.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// The language for a list of preferred tags, best first.
    pub fn preferred(tags: &[String]) -> Self {
        tags.iter()
            .find_map(|tag| match tag.get(..2)?.to_ascii_lowercase().as_str() {
                "en" => Some(Self::English),
                "de" => Some(Self::German),
                _ => None,
            })
            .unwrap_or(Self::English)
    }
}

static CURRENT: AtomicU8 = AtomicU8::new(0);

/// Chooses the language. Views made before keep their texts: the page is mounted anew after it.
pub fn speak(language: Language) {
    CURRENT.store(u8::from(language == Language::German), Ordering::Relaxed);
}

/// The language that is spoken.
pub fn language() -> Language {
    if CURRENT.load(Ordering::Relaxed) == 1 {
        Language::German
    } else {
        Language::English
    }
}

/// Another language than English: its texts are not loaded with the page. Set once, before anything is shown.
static OTHER: OnceLock<fn(T) -> &'static str> = OnceLock::new();

/// Takes another language's texts.
pub fn learn(texts: fn(T) -> &'static str) {
    // seen through, it would be called directly, and be part of the page again
    let _ = OTHER.set(std::hint::black_box(texts));
}

/// The text in the present language, or in English while that was not learned.
pub fn t(text: T) -> &'static str {
    match OTHER.get() {
        Some(other) if language() == Language::German => other(text),
        _ => english(text),
    }
}

/// `text` with its `{}` replaced, in order.
pub fn fill(text: T, values: &[&str]) -> String {
    let mut out = String::new();
    let mut values = values.iter();
    let mut pieces = t(text).split("{}");
    debug_assert!(
        t(text).matches("{}").count() <= values.len(),
        "a gap stays open in {:?}",
        t(text)
    );
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        out.push_str(values.next().copied().unwrap_or_default());
        out.push_str(piece);
    }
    out
}

/// `one` or `many`, by `n`, with `n` filled in as the first value.
pub fn count(one: T, many: T, n: u32) -> String {
    fill(if n == 1 { one } else { many }, &[&number(n)])
}

/// A number with its thousands set apart.
pub fn number(n: u32) -> String {
    let digits = n.to_string();
    let mark = if language() == Language::German {
        '.'
    } else {
        ','
    };
    let mut out = String::with_capacity(digits.len() + 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(mark);
        }
        out.push(digit);
    }
    out
}

/// One digit after the point, or after the comma.
pub fn decimal(x: f64) -> String {
    let tenths = (x.max(0.0) * 10.0).round();
    let whole = (tenths / 10.0).floor();
    let mark = if language() == Language::German {
        ','
    } else {
        '.'
    };
    format!(
        "{}{mark}{}",
        number(whole as u32),
        (tenths - whole * 10.0) as u32
    )
}

/// Seconds of a number of milliseconds: `3.8 s`.
pub fn seconds(milliseconds: f64) -> String {
    if milliseconds < 100.0 {
        format!("{} ms", milliseconds.max(0.0).round() as u32)
    } else {
        format!("{} s", decimal(milliseconds / 1000.0))
    }
}

/// Bytes in the unit people read.
pub fn bytes(n: f64) -> String {
    let (value, unit) = if n < 1e6 {
        (n / 1e3, "KB")
    } else if n < 1e9 {
        (n / 1e6, "MB")
    } else {
        (n / 1e9, "GB")
    };
    if value < 10.0 && unit != "KB" {
        format!("{} {unit}", decimal(value))
    } else {
        format!("{} {unit}", number(value.round() as u32))
    }
}

macro_rules! texts {
    ($($name:ident: $en:literal | $de:literal,)*) => {
        /// A text of the page.
        #[allow(missing_docs)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum T { $($name,)* }

        fn english(text: T) -> &'static str {
            match text { $(T::$name => $en,)* }
        }

        /// The text in German.
        pub fn german(text: T) -> &'static str {
            match text { $(T::$name => $de,)* }
        }

        /// What a person must know about where messages are kept; nothing when all is well.
pub fn kept(kept: Kept) -> Option<&'static str> {
    match kept {
        Kept::Whole => None,
        Kept::Small => Some(t(T::StorageSmall)),
        Kept::Memory => Some(t(T::StorageMemory)),
    }
}

#[cfg(test)]
        const ALL: &[(T, &str, &str)] = &[$((T::$name, $en, $de),)*];
    };
}

texts! {
    // frame
    SkipToThread: "Skip to the conversation" | "Zur Unterhaltung springen",
    SessionsAndScreens: "Sessions and screens" | "Sitzungen und Seiten",
    Screens: "Screens" | "Seiten",
    Home: "palimpsest, home" | "palimpsest, Anfang",
    NewSession: "New session" | "Neue Sitzung",
    Search: "Search" | "Suchen",
    SearchSessions: "Search the titles of all sessions" | "In den Titeln aller Sitzungen suchen",
    NoMatch: "No session is called that." | "Keine Sitzung heißt so.",
    NoSessions: "No session yet." | "Noch keine Sitzung.",
    Today: "Today" | "Heute",
    ThisWeek: "This week" | "Diese Woche",
    Earlier: "Earlier" | "Früher",
    Session: "Session" | "Sitzung",
    Context: "Context" | "Kontext",
    Library: "Library" | "Bibliothek",
    Settings: "Settings" | "Einstellungen",
    SwitchTheme: "Switch between light and dark" | "Zwischen hell und dunkel wechseln",
    Untitled: "New session" | "Neue Sitzung",
    Stored: "{} stored" | "{} gespeichert",
    Loading: "Loading…" | "Lädt …",
    Close: "Close" | "Schließen",
    Cancel: "Cancel" | "Abbrechen",
    Save: "Save" | "Speichern",
    Copy: "Copy" | "Kopieren",
    Copied: "Copied" | "Kopiert",
    CopyFailed: "The browser did not let this page copy. Select the text and copy it by hand." | "Der Browser lässt diese Seite nicht kopieren. Den Text bitte von Hand kopieren.",
    Undo: "Undo" | "Zurücknehmen",

    // header
    Rename: "Rename session" | "Sitzung umbenennen",
    Delete: "Delete session" | "Sitzung löschen",
    Title: "Title" | "Titel",
    ChooseModel: "Model of this session" | "Modell dieser Sitzung",
    NoModel: "no model" | "kein Modell",
    WindowIs: "window {}" | "Fenster {}",
    Connected: "connected" | "verbunden",
    Connecting: "asking" | "fragt an",
    NotConnected: "not connected" | "nicht verbunden",
    NoModelInstalled: "no model installed" | "kein Modell installiert",
    Notes: "Notes" | "Notizen",
    SystemPrompt: "System prompt" | "Systemprompt",
    SystemPromptHelp: "Stands first in every window, word for word, and is never compacted." | "Steht in jedem Fenster an erster Stelle, Wort für Wort, und wird nie verdichtet.",
    OnlyHere: "For the replies of this session alone" | "Nur für die Antworten dieser Sitzung",
    AsForModel: "as for its model" | "wie für ihr Modell",
    SystemPromptNone: "None. The model gets no instructions beside your messages." | "Keiner. Das Modell bekommt außer deinen Nachrichten keine Anweisungen.",
    Edit: "Edit" | "Bearbeiten",
    Deleted: "“{}” was deleted." | "„{}“ wurde gelöscht.",
    Restored: "“{}” is back." | "„{}“ ist wieder da.",
    Trash: "Deleted" | "Gelöscht",
    TrashHelp: "A deleted session can be brought back for 30 days. Then it is removed for good, with its large texts." | "Eine gelöschte Sitzung lässt sich 30 Tage lang zurückholen. Danach wird sie endgültig entfernt, mit ihren großen Texten.",
    TrashNone: "No session was deleted in the last 30 days." | "In den letzten 30 Tagen wurde keine Sitzung gelöscht.",
    TrashDays: "{} days left" | "noch {} Tage",
    TrashDay: "1 day left" | "noch 1 Tag",
    TrashRestore: "Restore" | "Zurückholen",
    TrashPurge: "Delete now" | "Jetzt löschen",
    Purged: "“{}” was removed for good." | "„{}“ wurde endgültig entfernt.",
    DamagedSessions: "Damaged sessions" | "Schadhafte Sitzungen",
    DamagedSession: "Damaged session {}" | "Schadhafte Sitzung {}",
    DamagedHelp: "The row that a list shows of them cannot be read. Opening makes it anew from the other rows: what was said is there." | "Die Zeile, die eine Liste von ihnen zeigt, ist nicht lesbar. Öffnen macht sie neu aus den anderen Zeilen: Was gesagt wurde, ist da.",
    DamagedOpen: "Open what is left" | "Öffnen, was noch da ist",
    DamagedSave: "Export what is left" | "Exportieren, was noch da ist",
    LossesTold: "Parts of this session cannot be read: {}. What is left is shown; nothing is written over." | "Teile dieser Sitzung sind nicht lesbar: {}. Was noch da ist, wird gezeigt; nichts wird überschrieben.",
    LossesWhat: "What is lost" | "Was verloren ist",
    LossHead: "its head could not be read: title, model and settings were made anew from the other rows" | "ihr Kopf war nicht lesbar: Titel, Modell und Einstellungen wurden aus den anderen Zeilen neu gemacht",
    LossesLayers: "Messages of a lost layer are shown as they were said." | "Nachrichten einer verlorenen Schicht werden gezeigt, wie sie gesagt wurden.",

    // budget bar
    OfTokens: "of {} tokens" | "von {} Tokens",
    Tokens: "tokens" | "Tokens",
    Inspect: "Inspect" | "Ansehen",
    NextLayerIn: "next layer in about {}" | "nächste Schicht in etwa {}",
    AtTrigger: "At the trigger: a layer is written after the next reply" | "Am Auslöser: nach der nächsten Antwort wird eine Schicht geschrieben",
    AtTriggerWritingOne: "At the trigger: a layer is being written" | "Am Auslöser: eine Schicht wird geschrieben",
    AtTriggerWriting: "At the trigger: layer {} is being written" | "Am Auslöser: Schicht {} wird geschrieben",
    StuckAt: "Cannot shrink further: {} of it is yours or locked. Widen the window, or shorten a message." | "Kleiner geht es nicht: {} davon sind deine Worte oder gesperrt. Vergrößere das Fenster oder kürze eine Nachricht.",
    OverBy: "{} tokens too many: the window is shortened before it is sent" | "{} Tokens zu viel: das Fenster wird vor dem Senden gekürzt",
    WindowUnknown: "window not known yet" | "Fenster noch nicht bekannt",
    FloorTick: "floor {}" | "Boden {}",
    TriggerTick: "trigger {}" | "Auslöser {}",
    TargetTick: "target {}" | "Ziel {}",
    LimitTick: "limit {}" | "Grenze {}",
    BarLabel: "{} of {} tokens used, {} percent. The trigger is at {}, the floor at {}." | "{} von {} Tokens belegt, {} Prozent. Der Auslöser liegt bei {}, der Boden bei {}.",
    BarLabelUnknown: "{} tokens used; the window is not known yet." | "{} Tokens belegt; das Fenster ist noch nicht bekannt.",
    BarTable: "The window in the order it is sent" | "Das Fenster in der Reihenfolge, in der es gesendet wird",
    KindSystem: "system" | "System",
    KindGoal: "goal, pins" | "Ziel, Gepinntes",
    KindRecalled: "recalled" | "Zitate",
    KindUser: "you" | "du",
    KindAssistant: "replies" | "Antworten",
    KindTool: "tool results" | "Werkzeuge",
    KindDraft: "draft" | "Entwurf",
    KindReply: "this reply" | "diese Antwort",
    KindFree: "free" | "frei",
    KindReserve: "answer" | "Antwort",
    KindMargin: "margin" | "Rand",
    WindowSum: "window {} = {} + {} for the answer + {} margin" | "Fenster {} = {} + {} für die Antwort + {} Rand",
    CountedExactly: "counted with the model’s own vocabulary" | "gezählt mit dem Wortschatz des Modells",
    CountedByServer: "counted by the model server" | "vom Modellserver gezählt",
    CountedRoughly: "≈ estimated, at most {} more" | "≈ geschätzt, höchstens {} mehr",
    UntilCounted: "≈ until the model has counted" | "≈ bis das Modell gezählt hat",

    // thread
    Conversation: "Conversation" | "Unterhaltung",
    You: "You" | "Du",
    Imported: "imported" | "importiert",
    EarlierMessages: "{} earlier messages" | "{} frühere Nachrichten",
    LaterMessages: "{} later messages" | "{} spätere Nachrichten",
    EarlierCovered: "{} are covered by layers; all can be read" | "{} stehen in Schichten; alle sind lesbar",
    InLayer: "in layer {}" | "in Schicht {}",
    Thought: "Thought, not sent back" | "Gedanken, nicht zurückgesandt",
    ToolFailed: "error" | "Fehler",
    ToolPending: "no result" | "kein Ergebnis",
    MoreLines: "{} more lines" | "{} weitere Zeilen",
    ReadWrote: "read {}, wrote {}" | "las {}, schrieb {}",
    Speed: "{} tok/s" | "{} Tok/s",
    ImageOn: "Picture on {}" | "Bild auf {}",
    ImageInside: "Show the picture “{}”" | "Bild „{}“ zeigen",
    ImageRefused: "Picture “{}”, not shown" | "Bild „{}“, nicht gezeigt",
    CopyCode: "Copy the code" | "Code kopieren",
    CopyMessage: "Copy the message" | "Nachricht kopieren",
    JumpToLatest: "Jump to the latest" | "Zum Neuesten",
    ReplyStreaming: "The model is replying." | "Das Modell antwortet.",
    ReplyDone: "Reply finished." | "Antwort fertig.",
    ReplyStopped: "Reply stopped." | "Antwort angehalten.",
    QuestionOpen: "The last question has no answer yet." | "Die letzte Frage hat noch keine Antwort.",
    ReplyBroken: "The reply stopped before its end. This part had arrived:" | "Die Antwort brach vor ihrem Ende ab. Dieser Teil war angekommen:",
    EndedStopped: "Stopped before its end." | "Vor dem Ende angehalten.",
    EndedCut: "Cut at {} tokens." | "Bei {} Tokens abgeschnitten.",
    Continue: "Continue" | "Fortsetzen",
    WriteReply: "Write the reply" | "Antwort schreiben",
    KeepPart: "Keep this part" | "Diesen Teil behalten",
    ReplyFailed: "The reply failed: {}" | "Die Antwort ist gescheitert: {}",
    TryAgain: "Try again" | "Nochmal versuchen",

    // start
    StartTitle: "Start writing" | "Schreib los",
    StartText: "Everything you say stays in this browser. When the window fills, older replies are written over by a layer; what was said stays underneath and can be lifted again." | "Alles Gesagte bleibt in diesem Browser. Wird das Fenster voll, schreibt eine Schicht über ältere Antworten; das Gesagte liegt darunter und lässt sich wieder freilegen.",
    StartMemory: "Nothing you say is stored: it is gone when the tab is closed. When the window fills, older replies are written over by a layer; what was said stays underneath and can be lifted again." | "Nichts Gesagtes wird gespeichert: Es ist weg, wenn der Tab geschlossen wird. Wird das Fenster voll, schreibt eine Schicht über ältere Antworten; das Gesagte liegt darunter und lässt sich wieder freilegen.",
    StartHosted: "The page around this app keeps everything you say. When the window fills, older replies are written over by a layer; what was said stays underneath and can be lifted again." | "Die Seite um diese App bewahrt alles Gesagte auf. Wird das Fenster voll, schreibt eine Schicht über ältere Antworten; das Gesagte liegt darunter und lässt sich wieder freilegen.",
    StartImport: "Import a conversation" | "Unterhaltung importieren",
    StartConnect: "Connect a model" | "Modell verbinden",
    OfflineTitle: "No model answers at {}" | "Unter {} antwortet kein Modell",
    OfflineText: "Everything but chatting works: import a conversation, compact it without a model, read its layers, undo." | "Alles außer Chatten geht: Unterhaltungen importieren, ohne Modell verdichten, Schichten lesen, zurücknehmen.",
    InstallModel: "The server has no model yet. In a terminal: {}" | "Der Server hat noch kein Modell. Im Terminal: {}",

    // composer
    Draft: "draft" | "Entwurf",
    MessagePlaceholder: "Write a message" | "Nachricht schreiben",
    Commands: "commands" | "Befehle",
    Send: "Send" | "Senden",
    Stop: "Stop" | "Anhalten",
    AboutTokens: "≈ {} tokens" | "≈ {} Tokens",
    NotSentNoModel: "Not sent: no model answers. Your text is kept." | "Nicht gesendet: kein Modell antwortet. Dein Text bleibt.",
    UnknownCommand: "There is no command {}. Nothing was sent." | "Den Befehl {} gibt es nicht. Nichts wurde gesendet.",

    // card
    CardAnnounced: "Layer {} after this reply" | "Schicht {} nach dieser Antwort",
    CompactsNothing: "Nothing to compact: nothing was said yet." | "Nichts zu verdichten: Es wurde noch nichts gesagt.",
    CardWorkingOne: "Writing a layer" | "Eine Schicht wird geschrieben",
    CardWorking: "Writing layer {}" | "Schicht {} wird geschrieben",
    CardDone: "Layer {} written" | "Schicht {} geschrieben",
    CardSkipped: "Nothing was written" | "Nichts wurde geschrieben",
    CardFailed: "Layer {} could not be written" | "Schicht {} konnte nicht geschrieben werden",
    CardUndone: "Layer {} undone" | "Schicht {} zurückgenommen",
    CardTo: "to" | "auf",
    CardFewer: "tokens, {} % fewer" | "Tokens, {} % weniger",
    CardExpected: "tokens expected" | "Tokens erwartet",
    CardBefore: "before" | "vorher",
    CardAfter: "after" | "nachher",
    CardPair: "The window before: {} tokens. After: {}." | "Das Fenster vorher: {} Tokens. Nachher: {}.",
    CardCovers: "Covers" | "Deckt",
    CardCoversText: "messages {}–{}: {} of them, {} → {} tokens" | "Nachrichten {}–{}: {} davon, {} → {} Tokens",
    CardKept: "Kept word for word" | "Wörtlich behalten",
    CardKeptOne: "{} of your messages" | "{} deiner Nachrichten",
    CardKeptMany: "{} of your messages" | "{} deiner Nachrichten",
    CardPrompt: "the system prompt" | "der Systemprompt",
    CardPinsOne: "{} pinned line" | "{} gepinnte Zeile",
    CardPinsMany: "{} pinned lines" | "{} gepinnte Zeilen",
    CardShortened: "Shortened" | "Gekürzt",
    CardDemands: "Your demands, kept" | "Deine Vorgaben, behalten",
    CardDropped: "Not carried over" | "Nicht übernommen",
    CardDroppedNone: "nothing that was looked for" | "nichts vom Gesuchten",
    CardDroppedMore: "and {} more" | "und {} weitere",
    CardPrice: "Price" | "Preis",
    CardPriceText: "the next reply reads {} tokens anew" | "die nächste Antwort liest {} Tokens neu",
    CardAuthor: "Written by" | "Geschrieben von",
    CardExtractive: "the built-in summariser, without a model" | "der eingebauten Zusammenfassung, ohne Modell",
    NotFewerFacts: "it keeps more of the facts than the model's text did" | "sie behält mehr Fakten als der Text des Modells",
    NotLeaked: "the model's text showed marks of the request" | "im Text des Modells standen Marken der Anfrage",
    NotEcho: "the model repeated the request" | "das Modell wiederholte die Anfrage",
    NotRepetitive: "the model repeated itself" | "das Modell wiederholte sich",
    NotInvented: "the model wrote what nobody had said" | "das Modell schrieb, was niemand gesagt hatte",
    CardFallback: "the built-in summariser: {}" | "der eingebauten Zusammenfassung: {}",
    CardMessageWaits: "Your message waits for this: the conversation does not fit any more. After {} it goes on without the model." | "Deine Nachricht wartet darauf: Das Gespräch passt nicht mehr. Nach {} geht es ohne das Modell weiter.",
    DontWait: "Don't wait" | "Nicht warten",
    StatusMessageWaits: "Your message waits: the conversation is made to fit first." | "Deine Nachricht wartet: Das Gespräch wird erst passend gemacht.",
    CardNothingChanges: "Nothing changes until it is verified." | "Bis zur Prüfung ändert sich nichts.",
    CardWindowAt: "The window is at {} of {}. Everything stays readable." | "Das Fenster steht bei {} von {}. Alles bleibt lesbar.",
    CardUnchanged: "The window is unchanged." | "Das Fenster ist unverändert.",
    CardUndoneText: "No automatic run until your next message would not fit." | "Kein automatischer Lauf, bis deine nächste Nachricht nicht mehr passt.",
    CardAgain: "Write it again" | "Neu schreiben",
    CardRead: "Read layer" | "Schicht lesen",
    CardStages: "Stages" | "Schritte",
    StageIdentify: "choose" | "wählen",
    StagePrepare: "prepare" | "vorbereiten",
    StageSummarise: "summarise" | "zusammenfassen",
    StageCheckpoint: "layer" | "Schicht",
    StageUpdate: "replace" | "ersetzen",
    StageVerify: "verify" | "prüfen",
    StatusCompacted: "{} → {} tokens: {} freed, {} references released." | "{} → {} Tokens: {} frei, {} Verweise freigegeben.",
    StatusWindowUndone: "The window is as it was before: {} tokens." | "Das Fenster ist wieder wie zuvor: {} Tokens.",
    StatusUndone: "Layer {} undone: {} tokens." | "Schicht {} zurückgenommen: {} Tokens.",
    Truncated: "The server cut text without a word: {} tokens were sent, {} were read. Choose a smaller window, or load the model with a larger one." | "Der Server las nur einen Teil: {} gesendet, {} gelesen. Text wurde stillschweigend abgeschnitten. Wähle ein kleineres Fenster oder lade das Modell mit einem größeren.",
    StatusNothing: "Nothing was compacted: {}" | "Nichts wurde verdichtet: {}",
    LayerFresh: "fresh" | "frisch",
    LayerAged: "aged" | "gealtert",
    LayerOld: "old" | "alt",
    LayerAncient: "ancient" | "uralt",

    // notes
    NotesLabel: "System prompt, layers and snapshots" | "Systemprompt, Schichten und Schnappschüsse",
    Layers: "Layers" | "Schichten",
    LayersNone: "None yet. The first one is written at the trigger, or when you ask for it." | "Noch keine. Die erste entsteht am Auslöser oder auf Wunsch.",
    CompactNow: "Compact now" | "Jetzt verdichten",
    Pinned: "Pinned" | "Gepinnt",
    Goal: "Goal" | "Ziel",

    // context
    Lens: "Lens" | "Blick",
    LensSaid: "What was said" | "Was gesagt wurde",
    LensSaidShort: "Said" | "Gesagt",
    LensOverlay: "Overlay" | "Überlagert",
    LensSees: "What the model sees" | "Was das Modell sieht",
    LensSeesShort: "Model sees" | "Modell sieht",
    Sent: "sent" | "gesendet",
    Layer: "Layer {}" | "Schicht {}",
    LayerCost: "{}–{} · {} → {} tokens · {}" | "{}–{} · {} → {} Tokens · {}",
    NextWindow: "The next window, as sent" | "Das nächste Fenster, wie gesendet",
    CopyJson: "Copy JSON" | "JSON kopieren",
    NoSessionOpen: "No session is open." | "Keine Sitzung ist offen.",
    NothingSaid: "Nothing was said yet." | "Noch wurde nichts gesagt.",
    TokensOf: "{} tokens" | "{} Tokens",

    // library and import
    LibraryOf: "{} in this browser" | "{} in diesem Browser",
    SessionsOne: "{} session" | "{} Sitzung",
    SessionsMany: "{} sessions" | "{} Sitzungen",
    Import: "Import" | "Importieren",
    ImportTitle: "Import a conversation" | "Unterhaltung importieren",
    ImportHelp: "A JSON file: an export of palimpsest, Open WebUI, ChatGPT or Claude, or a list of messages as OpenAI, Anthropic or Ollama take them; JSON Lines or Markdown of the palimpsest package. What is here already is not imported twice. Nothing leaves this browser." | "Eine JSON-Datei: ein Export von palimpsest, Open WebUI, ChatGPT oder Claude, oder eine Liste von Nachrichten, wie OpenAI, Anthropic oder Ollama sie annehmen; JSON Lines oder Markdown des Pakets palimpsest. Was schon da ist, kommt nicht doppelt. Nichts verlässt diesen Browser.",
    ImportChoose: "Choose a file" | "Datei wählen",
    ImportDrop: "or drop it anywhere on the page" | "oder irgendwo auf die Seite ziehen",
    ImportSystem: "Take system line, goal and pins over; otherwise a system line is quoted" | "Systemzeile, Ziel und Gepinntes übernehmen; sonst wird eine Systemzeile zitiert",
    ImportFailed: "“{}” was not imported: {}" | "„{}“ wurde nicht importiert: {}",
    RowsMore: "{} of {} shown – show more" | "{} von {} gezeigt – mehr zeigen",
    FileAt: "{}: {} of {} conversations" | "{}: {} von {} Unterhaltungen",
    ImportDone: "{} imported, {} messages." | "{} importiert, {} Nachrichten.",
    ImportLeftOut: "Left out, since it is not UTF-8: {}{}." | "Ausgelassen, weil es kein UTF-8 ist: {}{}.",
    ImportPlace: "line {} (byte {})" | "Zeile {} (Byte {})",
    ImportNothing: "{}: everything in it is here already." | "{}: Alles darin ist schon da.",
    ImportSettings: "{} imported: settings, {} new profiles." | "{} importiert: Einstellungen, {} neue Profile.",
    OtherServer: "Another model server" | "Anderer Modellserver",
    OtherServerText: "The settings in this file name the model server {}. If you use it, what you say from now on is sent there instead of to {}." | "Die Einstellungen in dieser Datei nennen den Modellserver {}. Wenn du ihn benutzt, geht alles, was du ab jetzt sagst, dorthin statt an {}.",
    OtherServerUse: "Use that server" | "Diesen Server benutzen",
    OtherServerKeep: "Keep mine" | "Meinen behalten",
    ImportTooLarge: "it is {}; files up to {} are read" | "sie hat {}; gelesen werden Dateien bis {}",
    ImportEmpty: "it is empty" | "sie ist leer",
    ImportReading: "Reading “{}”…" | "„{}“ wird gelesen …",
    ColumnWindow: "Window" | "Fenster",
    ColumnMessages: "Messages" | "Nachrichten",
    ColumnLayers: "Layers" | "Schichten",
    ColumnUsed: "Last used" | "Zuletzt",
    ColumnSize: "Size" | "Größe",
    Actions: "Actions" | "Aktionen",
    Storage: "Storage" | "Speicher",
    StorageUsed: "Used" | "Belegt",
    StorageOf: "of about {}" | "von etwa {}",
    StorageEviction: "Eviction" | "Verdrängung",
    StoragePersistent: "Persistent" | "Dauerhaft",
    StoragePersistentHelp: "the browser will not clear it by itself" | "der Browser räumt ihn nicht von selbst auf",
    StorageBestEffort: "The browser may clear it when space runs out" | "Der Browser darf ihn räumen, wenn der Platz ausgeht",
    StorageAsk: "Ask to keep it" | "Um Dauer bitten",
    StorageMemory: "This browser does not let the page store anything: sessions live in memory and are gone when the tab is closed. Export what you want to keep." | "Dieser Browser lässt die Seite nichts speichern: Sitzungen liegen im Arbeitsspeicher und sind weg, wenn der Tab geschlossen wird. Exportiere, was du behalten willst.",
    StorageSmall: "This browser does not let the page use IndexedDB: sessions are kept in its small storage, a few megabytes in all, and a crash may take the last seconds. Export what you want to keep." | "Dieser Browser erlaubt der Seite kein IndexedDB: Sitzungen liegen im kleinen Speicher, insgesamt wenige Megabyte, und ein Absturz kann die letzten Sekunden kosten. Exportiere, was du behalten willst.",
    StorageFailed: "Saving failed: {} You can keep working; what is new lives in memory. Export it before you close the tab." | "Speichern ist gescheitert: {} Du kannst weiterarbeiten; Neues liegt im Arbeitsspeicher. Exportiere es, bevor du den Tab schließt.",
    StoreBlocked: "An older palimpsest in another tab is in the way. Close that tab." | "Ein älteres palimpsest in einem anderen Tab ist im Weg. Schließe diesen Tab.",
    StoreUpgraded: "A newer palimpsest was opened in another tab. Reload this one." | "In einem anderen Tab wurde ein neueres palimpsest geöffnet. Lade diesen neu.",
    StoreDeleted: "The stored sessions are being deleted in another tab." | "Die gespeicherten Sitzungen werden in einem anderen Tab gelöscht.",
    StoreLost: "This browser held more sessions when you were last here: it, or a cleaning program, has cleared its storage. Exported files can be imported again." | "Dieser Browser hatte beim letzten Besuch mehr Sitzungen: er oder ein Aufräumprogramm hat seinen Speicher geleert. Exportierte Dateien lassen sich wieder importieren.",
    OtherTab: "This session is open in another tab or view, which writes. This one reads along." | "Diese Sitzung ist in einem anderen Tab oder Fenster offen, das schreibt. Dieses liest mit.",
    TakeOver: "Write here instead" | "Hier weiterschreiben",

    // settings
    TabConnection: "Connection" | "Verbindung",
    TabModel: "Model and budget" | "Modell und Budget",
    TabCompaction: "Compaction" | "Verdichtung",
    TabAppearance: "Appearance" | "Aussehen",
    TabData: "Data" | "Daten",
    TabShortcuts: "Shortcuts" | "Tasten",
    ServerAddress: "Server address" | "Serveradresse",
    HostAsks: "The page around this app asks the server, at an address of its own." | "Die Seite um diese App fragt den Server, an einer eigenen Adresse.",
    HostColours: "The colours are those of the page around this app." | "Die Farben sind die der Seite um diese App.",
    ServerKind: "Kind of server" | "Art des Servers",
    ThisComputer: "This computer" | "Dieser Rechner",
    ThisComputerPort: "This computer, port {}" | "Dieser Rechner, Port {}",
    AnotherServer: "Another server" | "Weiterer Server",
    AddServer: "Add a server" | "Server hinzufügen",
    UseServer: "Use this server" | "Diesen Server benutzen",
    TryModel: "Ask {} for one token" | "{} um ein Token bitten",
    LoadWith: "Load {} with {} tokens" | "{} mit {} Tokens laden",
    KindOllama: "Ollama" | "Ollama",
    KindLlamaCpp: "llama.cpp" | "llama.cpp",
    KindOpenAi: "OpenAI-compatible (vLLM, LM Studio …)" | "OpenAI-kompatibel (vLLM, LM Studio …)",
    TestAgain: "Test again" | "Nochmal prüfen",
    Test: "Test" | "Prüfen",
    Testing: "Testing…" | "Prüft …",
    ApiKey: "API key" | "API-Schlüssel",
    ApiKeyHelp: "Kept in memory only and gone with the tab, unless you tick the box." | "Nur im Arbeitsspeicher, mit dem Tab weg, außer du setzt den Haken.",
    ApiKeyKeep: "Keep it in this browser’s settings" | "In den Einstellungen dieses Browsers behalten",
    ExactOrigin: "The exact origin, not *: with a star any site you visit could use your models." | "Die genaue Herkunft, nicht *: mit einem Stern könnte jede besuchte Seite deine Modelle benutzen.",
    SystemOfServer: "System of the server" | "System des Servers",
    DoctorWorks: "works" | "geht",
    DoctorRemark: "works, with a remark" | "geht, mit Anmerkung",
    DoctorBroken: "does not work yet" | "geht noch nicht",
    Window: "Window" | "Fenster",
    WindowHelp: "tokens, sent to the model as its context length; larger windows need more memory" | "Tokens, dem Modell als Kontextlänge gesendet; größere Fenster brauchen mehr Speicher",
    WindowTrained: "trained for {}" | "trainiert für {}",
    WindowLoaded: "loaded with {}" | "geladen mit {}",
    ModelFirst: "the first there is" | "das erste, das da ist",
    Reserve: "Kept for the answer" | "Frei für die Antwort",
    ReserveHelp: "tokens, {} % of the window, the most a reply may take; empty: as fits the window" | "Tokens, {} % des Fensters, mehr darf eine Antwort nicht belegen; leer: wie es zum Fenster passt",
    ReserveWrong: "A number of tokens, at least 16, or nothing." | "Eine Zahl von Tokens, mindestens 16, oder nichts.",
    CompactAt: "Compact at" | "Verdichten bei",
    CompactAtHelp: "of what can shrink: at {} tokens now" | "von dem, was schrumpfen kann: jetzt bei {} Tokens",
    CompactAtNot: "this session’s policy does not act by fill" | "die Regel dieser Sitzung geht nicht nach Füllstand",
    FreshStarts: "A new session would start here" | "Hier würde eine neue Sitzung beginnen",
    FreshTurnsOne: "room for about {} turn of your usual length before the first layer" | "Raum für etwa {} Wechsel üblicher Länge vor der ersten Schicht",
    FreshTurnsMany: "room for about {} turns of your usual length before the first layer" | "Raum für etwa {} Wechsel üblicher Länge vor der ersten Schicht",
    CanUseTools: "tools" | "Werkzeuge",
    CanThink: "thinking" | "Nachdenken",
    CanSee: "pictures" | "Bilder",
    WindowOther: "Another size" | "Andere Größe",
    WindowsNamed: "Named sizes: the model gets 85 %" | "Benannte Größen: das Modell bekommt 85 %",
    WindowsPlain: "As given" | "Wie angegeben",
    WindowNoSize: "There is no size {}. This model has {}." | "Die Größe {} gibt es nicht. Dieses Modell hat {}.",
    WindowHelpNamed: "tokens, sent to the model as its context length, or a named size such as 16K; larger windows need more memory" | "Tokens, dem Modell als Kontextlänge gesendet, oder eine benannte Größe wie 16K; größere Fenster brauchen mehr Speicher",
    Model: "Model" | "Modell",
    SummaryModel: "Layers written by" | "Schichten schreibt",
    SummaryModelSame: "the session’s model" | "das Modell der Sitzung",
    SummaryModelNone: "the built-in summariser, without a model" | "die eingebaute Zusammenfassung, ohne Modell",
    AutoCompact: "Compact at the trigger by itself" | "Am Auslöser von selbst verdichten",
    AutoTitle: "Let the model name a session after its first reply" | "Das Modell nach seiner ersten Antwort die Sitzung benennen lassen",
    Theme: "Theme" | "Farben",
    ThemeSystem: "as the system" | "wie das System",
    ThemeLight: "light" | "hell",
    ThemeDark: "dark" | "dunkel",
    Contrast: "Contrast" | "Kontrast",
    ContrastSystem: "as the system" | "wie das System",
    ContrastMore: "high" | "hoch",
    Palette: "Bar" | "Balken",
    PaletteColour: "colours and patterns" | "Farben und Muster",
    PaletteGrey: "patterns only" | "nur Muster",
    Language: "Language" | "Sprache",
    KeySend: "send" | "senden",
    KeyBreak: "line break" | "Zeilenumbruch",
    KeyStop: "stop the reply, close a dialog" | "Antwort anhalten, Dialog schließen",
    KeyNew: "new session" | "neue Sitzung",
    KeySearch: "search sessions" | "Sitzungen suchen",
    KeySide: "side column" | "Seitenspalte",
    KeyInspector: "context" | "Kontext",
    KeyComposer: "to the message field" | "zum Nachrichtenfeld",

    // records, snapshots, branches
    Add: "Add" | "Hinzufügen",
    Remove: "Remove" | "Entfernen",
    ShowAll: "All" | "Alle",
    GoalNone: "None set. A goal is never summarised: it stands word for word in every window." | "Keines gesetzt. Ein Ziel wird nie zusammengefasst: es steht wörtlich in jedem Fenster.",
    GoalHelp: "What is to be reached. It stands word for word in every window." | "Was erreicht werden soll. Es steht wörtlich in jedem Fenster.",
    GoalItems: "Steps and decisions" | "Schritte und Entscheidungen",
    GoalNoItems: "None yet." | "Noch keine.",
    GoalReach: "It is reached" | "Es ist erreicht",
    GoalReached: "reached" | "erreicht",
    GoalReopen: "Not reached yet" | "Noch nicht erreicht",
    GoalRemove: "Remove the goal" | "Ziel entfernen",
    GoalRefused: "The goal was not changed: {}" | "Das Ziel wurde nicht geändert: {}",
    GoalTokens: "{} tokens in every window, pins included" | "{} Tokens in jedem Fenster, Gepinntes inbegriffen",
    GoalArtifact: "Made" | "Entstanden",
    GoalNext: "Next" | "Als Nächstes",
    GoalBlocker: "In the way" | "Im Weg",
    Milestone: "Milestone" | "Meilenstein",
    MilestoneToDo: "To do" | "Offen",
    MilestoneDoing: "Begun" | "Begonnen",
    MilestoneDone: "Done" | "Erledigt",
    DecisionLocked: "Locked decision" | "Feste Entscheidung",
    DecisionOpen: "Decision" | "Entscheidung",
    Decided: "decision" | "Entscheidung",
    Proposed: "Proposed" | "Vorgeschlagen",
    ProposedHelp: "Read from a summary. Nothing counts until you accept it." | "Aus einer Zusammenfassung. Nichts gilt, bevor du es annimmst.",
    AskKeep: "Keep this for the whole conversation?" | "Das für das ganze Gespräch behalten?",
    AskYes: "Keep" | "Behalten",
    AskNo: "No" | "Nein",
    Accept: "Accept" | "Annehmen",
    Decline: "Decline" | "Ablehnen",
    Trust: "Recall" | "Erinnerung",
    TrustFull: "Full" | "Voll",
    TrustHigh: "High" | "Hoch",
    TrustMedium: "Medium" | "Mittel",
    TrustLow: "Low" | "Niedrig",
    TrustCritical: "Very low" | "Sehr niedrig",
    TrustCompactions: "Compactions: {}, a factor of {} %." | "Verdichtungen: {}, ein Faktor von {} %.",
    TrustKept: "Facts that were checked and are still there: {} %." | "Geprüfte Fakten, die noch da sind: {} %.",
    TrustUnknown: "No fact was there to check: taken as 100 %." | "Kein Fakt war zu prüfen: als 100 % genommen.",
    TrustSum: "{} % × {} % = {} %." | "{} % × {} % = {} %.",
    TrustModel: "A model of this size: {}–{} compactions recommended, each saves about {}–{}\u{a0}%." | "Ein Modell dieser Größe: {}–{} Verdichtungen empfohlen, jede spart etwa {}–{}\u{a0}%.",
    PinnedNone: "Nothing. A pinned line stays word for word in every window." | "Nichts. Eine gepinnte Zeile bleibt wörtlich in jedem Fenster.",
    PinHelp: "A line that stays word for word in every window" | "Eine Zeile, die wörtlich in jedem Fenster bleibt",
    PinDecision: "It is a decision" | "Es ist eine Entscheidung",
    PinKept: "Pinned: {}" | "Gepinnt: {}",
    PinMessage: "Pin message" | "Nachricht anpinnen",
    ToMessage: "Show message {}" | "Nachricht {} zeigen",
    TrustLayers: "Read what stands for the older text:" | "Lies, was für den älteren Text steht:",
    TrustLog: "Every compaction in the log" | "Jede Verdichtung im Protokoll",
    FromMessage: "from {}" | "aus {}",
    Recalled: "Recalled" | "Zurückgeholt",
    RecalledHelp: "Passages that layers cover, quoted for your last question." | "Stellen, die Schichten decken, für deine letzte Frage zitiert.",
    Snapshots: "Snapshots" | "Schnappschüsse",
    SnapshotsNone: "None yet. One is taken before every compaction." | "Noch keiner. Vor jeder Verdichtung entsteht einer.",
    SnapshotsHelp: "The newest five automatic snapshots are kept, yours until you delete them. A snapshot is a position, not a copy: each takes under 1 KB." | "Die neuesten fünf automatischen bleiben, deine, bis du sie löschst. Ein Schnappschuss ist eine Stelle, keine Kopie: Jeder nimmt unter 1 KB.",
    SnapshotAutomatic: "before a change" | "vor einer Änderung",
    SnapshotUnnamed: "snapshot" | "Schnappschuss",
    SnapshotName: "Name of a new snapshot" | "Name eines neuen Schnappschusses",
    SnapshotTake: "Take a snapshot" | "Schnappschuss machen",
    SnapshotTaken: "Snapshot “{}” taken." | "Schnappschuss „{}“ gemacht.",
    SnapshotFacts: "{}, {}, {} tokens" | "{}, {}, {} Tokens",
    SnapshotNameShort: "Name (optional)" | "Name (freigestellt)",
    SnapshotMine: "yours, kept until you delete it" | "deiner, bleibt, bis du ihn löschst",
    SnapshotByItself: "automatic" | "automatisch",
    SnapshotDelete: "Delete snapshot" | "Schnappschuss löschen",
    OfSession: "of {}" | "von {}",
    BeforeLayer: "before layer {}" | "vor Schicht {}",
    BeforeRestore: "before going back to {}" | "vor der Rückkehr zu {}",
    Now: "Now" | "Jetzt",
    LayersZero: "no layer" | "keine Schicht",
    LayersOne: "{} layer" | "{} Schicht",
    LayersMany: "{} layers" | "{} Schichten",
    SnapshotRestored: "Restored: {} messages. What was newer stays on its own branch." | "Wiederhergestellt: {} Nachrichten. Das Neuere bleibt auf seinem eigenen Zweig.",
    Restore: "Restore" | "Wiederherstellen",
    Preview: "Preview" | "Ansehen",
    RestoreBranch: "Continue in a new branch" | "In neuem Zweig weitermachen",
    RestoreRewind: "Rewind this session" | "Diese Sitzung zurückstellen",
    RestoreText: "What is newer stays in the session either way; restoring only moves the position." | "Was neuer ist, bleibt so oder so in der Sitzung; Wiederherstellen verschiebt nur die Stelle.",
    RestoreHelp: "A new branch keeps the way back to the present among your snapshots; rewinding keeps it among the automatic ones." | "Ein neuer Zweig behält den Weg zurück unter deinen Schnappschüssen; Zurückstellen behält ihn unter den automatischen.",
    NewerNone: "Nothing is newer." | "Nichts ist neuer.",
    NewerOne: "{} is newer than {}." | "{} ist neuer als {}.",
    NewerMany: "{} are newer than {}." | "{} sind neuer als {}.",
    NewerSince: "Since then: {}." | "Seitdem: {}.",
    MessagesOne: "{} message" | "{} Nachricht",
    MessagesMany: "{} messages" | "{} Nachrichten",
    Branches: "Branches" | "Zweige",
    BranchBefore: "Branch before" | "Zweig davor",
    BranchAfter: "Next branch" | "Nächster Zweig",
    Regenerate: "Write the reply again" | "Antwort neu schreiben",
    EditMessage: "Edit and send again" | "Ändern und neu senden",
    EditTitle: "Message {} in other words" | "Nachricht {} in anderen Worten",
    EditHelp: "It becomes a branch: what was said before stays, one click away." | "Daraus wird ein Zweig: das bisher Gesagte bleibt, einen Klick entfernt.",
    Resend: "Send as a branch" | "Als Zweig senden",
    BusyReplying: "A reply is coming in. Stop it first." | "Eine Antwort kommt gerade. Halte sie erst an.",
    Waits: "Waits for its turn:" | "Wartet, bis es dran ist:",
    TakeBack: "Take back" | "Zurücknehmen",
    Attach: "Attach text files" | "Textdateien anhängen",
    Attached: "{} attached." | "{} angehängt.",
    AttachedFiles: "Attached files" | "Angehängte Dateien",
    AttachNoText: "“{}” is not a text file. Nothing was attached." | "„{}“ ist keine Textdatei. Nichts wurde angehängt.",
    AttachTooLarge: "“{}” is {}; text files up to {} are attached." | "„{}“ hat {}; angehängt werden Textdateien bis {}.",
    Lines: "{} lines" | "{} Zeilen",
    FormCondensed: "sent condensed" | "verkürzt gesendet",
    FormStripped: "sent without tools" | "ohne Werkzeuge gesendet",
    FormOffloaded: "sent as a reference" | "als Verweis gesendet",
    FormExcerpt: "sent as an excerpt" | "als Auszug gesendet",

    // layers
    Timeline: "Compactions" | "Verdichtungen",
    TimelineEntry: "Compaction" | "Verdichtung",
    LayerMerged: "merged into another layer" | "in einer anderen Schicht aufgegangen",
    Compare: "Compare" | "Vergleichen",
    CompareTitle: "Layer {} beside what it covers" | "Schicht {} neben dem, was sie deckt",
    LiftFor: "Lift, +{}" | "Abheben, +{}",
    LiftLayer: "Lift the layer" | "Schicht abheben",
    LiftTitle: "Lift layer {}" | "Schicht {} abheben",
    LiftText: "Messages {}–{} are sent word for word again. That costs about {} tokens more in every window." | "Die Nachrichten {}–{} werden wieder wörtlich gesendet. Das kostet in jedem Fenster etwa {} Tokens mehr.",
    LiftFits: "The window would hold about {} of {} tokens." | "Das Fenster hielte etwa {} von {} Tokens.",
    LiftOver: "The window would hold about {} tokens, more than its limit of {}." | "Das Fenster hielte etwa {} Tokens, mehr als seine Grenze von {}.",
    Lifted: "Lifted: {} tokens in the window." | "Abgehoben: {} Tokens im Fenster.",
    NoLayer: "There is no layer {} in the window." | "Im Fenster gibt es keine Schicht {}.",
    PreviewTitle: "What a compaction would do now" | "Was eine Verdichtung jetzt täte",
    PreviewWindow: "Window" | "Fenster",
    PreviewCovers: "messages {}–{}, {} of them" | "Nachrichten {}–{}, {} davon",
    PreviewRead: "Summariser" | "Zusammenfassung",
    PreviewReadText: "reads {} tokens, writes at most {}" | "liest {} Tokens, schreibt höchstens {}",
    PreviewTakes: "Time" | "Dauer",
    TakesNothing: "next to none: no model is asked" | "fast keine: kein Modell wird gefragt",
    TakesSeconds: "about {} s, as fast as the model last was" | "etwa {} s, so schnell, wie das Modell zuletzt war",
    TakesUnknown: "not known before the model has answered once in this visit" | "nicht bekannt, bevor das Modell in diesem Besuch einmal geantwortet hat",
    PreviewHelp: "Nothing has changed. No model was asked." | "Nichts hat sich geändert. Kein Modell wurde gefragt.",

    // commands
    HelpCompact: "make the window smaller, with an eye on something" | "das Fenster verkleinern, mit Augenmerk auf etwas",
    HelpPreview: "what that would do, without doing it" | "was das täte, ohne es zu tun",
    HelpUndo: "take the last compaction back" | "die letzte Verdichtung zurücknehmen",
    HelpLift: "take layer n off" | "Schicht n abheben",
    HelpContext: "show what the model sees" | "zeigen, was das Modell sieht",
    HelpSnapshot: "remember this position" | "diese Stelle merken",
    HelpRestore: "go back to a snapshot" | "zu einem Schnappschuss zurück",
    HelpGoal: "set what is to be reached" | "setzen, was erreicht werden soll",
    HelpDecide: "lock a decision" | "eine Entscheidung festhalten",
    HelpPin: "keep a line word for word" | "eine Zeile wörtlich behalten",
    HelpModel: "choose a model" | "ein Modell wählen",
    HelpTitle: "rename the session" | "die Sitzung umbenennen",
    HelpLog: "show what was done to the window" | "zeigen, was mit dem Fenster geschah",
    HelpReplay: "replay the session under several policies" | "die Sitzung unter mehreren Regeln nachspielen",

    // log and replay
    Log: "Session log" | "Sitzungsprotokoll",
    LogSave: "Save as Markdown" | "Als Markdown sichern",
    RequestSave: "Exact request" | "Genaue Anfrage",
    SystemSave: "System message" | "Systemnachricht",
    LogEntries: "Changes of the window" | "Änderungen des Fensters",
    LogEmpty: "The window has not been changed yet." | "Das Fenster wurde noch nicht verändert.",
    LogTime: "Time" | "Zeit",
    LogAction: "Action" | "Was",
    LogMessages: "Messages" | "Nachrichten",
    LogBefore: "Tokens before" | "Tokens vorher",
    LogAfter: "Tokens after" | "Tokens nachher",
    LogSaved: "Saved" | "Gespart",
    LogReread: "To read again" | "Neu zu lesen",
    LogByHand: "compacted by hand" | "von Hand verdichtet",
    LogEmergency: "emergency" | "Notfall",
    LogCompacted: "compacted" | "verdichtet",
    Turns: "Tokens by turn" | "Tokens je Runde",
    TurnsScale: "The last {} of {} turns; the highest column is {} tokens." | "Die letzten {} von {} Runden; die höchste Säule sind {} Tokens.",
    TurnFirst: "From message" | "Ab Nachricht",
    TurnCompactions: "Compacted after it" | "Danach verdichtet",
    AsTable: "As a table" | "Als Tabelle",
    ToolFigures: "What tools take" | "Was Werkzeuge belegen",
    ToolNone: "No tool was used." | "Es wurde kein Werkzeug benutzt.",
    Tool: "Tool" | "Werkzeug",
    ToolBlocks: "Calls and results" | "Aufrufe und Ergebnisse",
    ToolRemoved: "Not shown" | "Nicht gezeigt",
    ToolSaid: "Tokens said" | "Tokens gesagt",
    ToolShown: "Tokens shown" | "Tokens gezeigt",
    Total: "Total" | "Zusammen",
    Replay: "Replay" | "Nachspielen",
    ReplayHelp: "What each policy would have sent, message by message. Nothing changes, and no model is asked: its calls are counted, and answered by the built-in summariser." | "Was jede Regel Nachricht für Nachricht gesendet hätte. Nichts ändert sich, und kein Modell wird gefragt: Seine Aufrufe werden gezählt, und der eingebaute Zusammenfasser antwortet.",
    ReplayRun: "Replay" | "Nachspielen",
    ReplayDone: "The replay is done." | "Das Nachspielen ist fertig.",
    ReplayOf: "{} messages, {} tokens said, in a window of {}." | "{} Nachrichten, {} Tokens gesagt, in einem Fenster von {}.",
    ReplayGoesOn: "Policy {} of {} …" | "Regel {} von {} …",
    ReplayOverTime: "Window over time" | "Fenster im Lauf der Zeit",
    ReplayPeak: "Most sent at once" | "Höchstens auf einmal gesendet",
    ReplayLast: "At the end" | "Am Ende",
    ReplaySent: "Sent in all" | "Gesendet insgesamt",
    ReplayRefused: "Refused" | "Abgelehnt",
    ReplayEmergencies: "Emergencies" | "Notfälle",
    ReplayCalls: "Calls to a model" | "Aufrufe eines Modells",
    ReplayArrival: "Saved on arrival" | "Bei der Ankunft gespart",
    ReplayPasses: "Tokens shed by each pass" | "Tokens, die jeder Schritt abgab",
    ReplayFacts: "Facts left: shown + to be recalled / said" | "Was bleibt: gezeigt + abrufbar / gesagt",
    Policies: "Policies" | "Regeln",
    PolicyOwn: "The session's own" | "Die eigene der Sitzung",
    PolicyForModel: "Always for {}" | "Immer für {}",
    PassCondense: "Condensed" | "Verkürzt",
    PassDedupe: "Shown once" | "Nur einmal gezeigt",
    PassStrip: "Stripped" | "Weggelassen",
    PassOffload: "Offloaded" | "Ausgelagert",
    PassSummarize: "Summarised" | "Zusammengefasst",
    PassTruncate: "Left out" | "Ausgelassen",
    PassFade: "Faded" | "Verblasst",
    PassEmergency: "Emergency" | "Notfall",
    PassReasoning: "Reasoning" | "Gedankengang",
    PassRecall: "Recalled passages" | "Zurückgeholte Stellen",
    PassEarlier: "Earlier calls" | "Frühere Aufrufe",
    FactConstraint: "Constraints" | "Vorgaben",
    FactNegation: "Negations" | "Verneinungen",
    FactDecision: "Decisions" | "Entscheidungen",
    FactPath: "Paths" | "Pfade",
    FactUrl: "Addresses" | "Adressen",
    FactIdentifier: "Identifiers" | "Bezeichner",
    FactNumber: "Numbers" | "Zahlen",
    FactDate: "Dates" | "Daten",
    FactQuoted: "Quotations" | "Zitate",
    FactPreference: "Preferences" | "Vorlieben",
    MarkAt: "Watermark before message {}: tool calls and results before it are left out." | "Wasserzeichen vor Nachricht {}: Werkzeugaufrufe und -ergebnisse davor entfallen.",
    MarkLost: "The watermark is not on this branch: nothing is left out." | "Das Wasserzeichen liegt nicht auf diesem Zweig: Nichts entfällt.",
    MarkNone: "No watermark yet." | "Noch kein Wasserzeichen.",
    MarkWaits: "The next call of {} becomes the watermark." | "Der nächste Aufruf von {} wird das Wasserzeichen.",
    MarkKeeps: "The last {} messages before it stay." | "Die letzten {} Nachrichten davor bleiben.",
    MarkErrors: "Errors stay." | "Fehler bleiben.",
    MarkBest: "The {} results that say the most stay." | "Die {} Ergebnisse, die am meisten sagen, bleiben.",
    MarkAnchors: "{} messages are anchored." | "{} Nachrichten sind verankert.",
    MarkEvery: "A mark is set every {} tokens." | "Alle {} Tokens wird eine Marke gesetzt.",
    MarkTasks: "A mark is set where a task begins." | "Wo eine Aufgabe beginnt, wird eine Marke gesetzt.",
    HelpExport: "save the session as a file" | "die Sitzung als Datei sichern",
    HelpSkip: "do not wait for the summary model" | "nicht auf das Zusammenfassungsmodell warten",
    HelpRollover: "go on in a new session from these layers" | "in einer neuen Sitzung mit diesen Schichten weitermachen",
    HelpHelp: "this list" | "diese Liste",
    KeysTitle: "Commands and keys" | "Befehle und Tasten",
    KeyCommands: "commands" | "Befehle",
    KeyEditLast: "in an empty field: edit the last message" | "im leeren Feld: letzte Nachricht ändern",
    KeyMessages: "from message to message" | "von Nachricht zu Nachricht",
    KeySheet: "this sheet" | "diese Übersicht",

    // policies
    Policy: "How this session and new ones are compacted" | "Wie diese Sitzung und neue verdichtet werden",
    PolicyBalanced: "Balanced" | "Ausgewogen",
    PolicyBalancedHelp: "layers over older text, tool results condensed, passages recalled when a question needs them" | "Schichten über älterem Text, verkürzte Werkzeugergebnisse, Stellen zurückgeholt, wenn eine Frage sie braucht",
    PolicyCheckpoints: "Checkpoints" | "Kontrollpunkte",
    PolicyCheckpointsHelp: "summaries that get shorter with age, at every compaction" | "Zusammenfassungen, die mit jeder Verdichtung kürzer werden",
    PolicyWatermark: "Watermark" | "Wasserzeichen",
    PolicyWatermarkHelp: "tool calls and results before a mark are left out; text stays" | "Werkzeugaufrufe und -ergebnisse vor einer Marke entfallen; Text bleibt",
    PolicyOffload: "Offload, then compact" | "Auslagern, dann verdichten",
    PolicyOffloadHelp: "large tool results become references first, then older text one summary" | "große Werkzeugergebnisse werden erst zu Verweisen, dann älterer Text zu einer Zusammenfassung",
    PolicyAuto: "Summarise at half" | "Bei der Hälfte zusammenfassen",
    PolicyAutoHelp: "at half of the window all but the latest messages become one summary" | "bei halbem Fenster wird alles bis auf die letzten Nachrichten eine Zusammenfassung",
    PolicyEdit: "Edit the policy, with a preview" | "Regel bearbeiten, mit Vorschau",
    PolicyUse: "Use this policy" | "Diese Regel benutzen",
    PolicyReset: "Back to “{}”" | "Zurück zu „{}“",
    EditorOf: "Acts by itself at a share of" | "Wird von selbst tätig bei einem Anteil von",
    OfAvailable: "what the conversation may take" | "dem, was das Gespräch belegen darf",
    OfLessFixed: "the window without system and layers" | "dem Fenster ohne System und Schichten",
    OfWindow: "the whole window" | "dem ganzen Fenster",
    OfLessTier: "the window without prompt budget and margin" | "dem Fenster ohne Prompt-Budget und Rand",
    OfNone: "nothing: not by fill" | "nichts: nicht nach Füllstand",
    EditorAt: "Percent of it" | "Prozent davon",
    EditorAtWrong: "A whole number from 1 to 100." | "Eine ganze Zahl von 1 bis 100.",
    EditorKeep: "Stays as it was said" | "Bleibt, wie es gesagt wurde",
    KeepShare: "a share that goes with the window" | "ein Anteil, der zum Fenster passt",
    KeepTokens: "the last tokens" | "die letzten Tokens",
    KeepMessages: "the last messages" | "die letzten Nachrichten",
    EditorCount: "How many" | "Wie viele",
    EditorCountWrong: "A whole number above 0." | "Eine ganze Zahl über 0.",
    EditorCover: "A new layer covers" | "Eine neue Schicht deckt",
    CoverNeeded: "the oldest, as much as is needed" | "das Älteste, so viel wie nötig",
    CoverAll: "everything before that" | "alles davor",
    EditorWords: "Your own words" | "Deine eigenen Worte",
    WordsShare: "stay within a share, the newest first" | "bleiben innerhalb eines Anteils, die neuesten zuerst",
    WordsSummarize: "are summarised like the rest" | "werden zusammengefasst wie der Rest",
    WordsNever: "are never summarised" | "werden nie zusammengefasst",
    EditorLevels: "How detailed a new layer is" | "Wie ausführlich eine neue Schicht ist",
    LevelsAge: "detailed, and less with age" | "ausführlich, und weniger mit dem Alter",
    LevelsSize: "less, the more it covers" | "weniger, je mehr sie deckt",
    EditorFading: "Layers fade" | "Schichten verblassen",
    FadingNotes: "when room is needed" | "wenn Platz gebraucht wird",
    FadingCascade: "at every compaction, through sizes" | "mit jeder Verdichtung, durch Größen",
    FadingRatios: "at every compaction, by percent" | "mit jeder Verdichtung, um Prozente",
    FadingSingle: "never: one layer, written anew each time" | "nie: eine Schicht, jedes Mal neu geschrieben",
    EditorSizes: "Sizes in tokens" | "Größen in Tokens",
    EditorSizesWrong: "Sizes that get smaller: 1200, 600, 300. By percent: the largest, then percent: 1200, 60, 50. One layer: 8000." | "Größen, die kleiner werden: 1200, 600, 300. Um Prozente: die größte, dann Prozente: 1200, 60, 50. Eine Schicht: 8000.",
    EditorFailure: "When the model does not write" | "Wenn das Modell nicht schreibt",
    FailureExtractive: "the built-in summariser does" | "schreibt die eingebaute Zusammenfassung",
    FailureRefuse: "nothing changes" | "ändert sich nichts",
    EditorPasses: "Steps, in this order" | "Schritte, in dieser Reihenfolge",
    EditorPassesWrong: "Either summarised or left out, not both." | "Entweder zusammengefasst oder ausgelassen, nicht beides.",
    EditorRecall: "Quote covered passages when a question needs them" | "Gedeckte Stellen zitieren, wenn eine Frage sie braucht",
    EditorArrival: "Condense tool output as it arrives" | "Werkzeugausgaben schon bei der Ankunft verkürzen",
    EditorDiffers: "Differs from “{}”:" | "Anders als „{}“:",
    EditorSame: "As “{}” has it." | "Wie „{}“.",
    EditorBack: "{}: back to {}" | "{}: zurück zu {}",
    EditorEmpty: "none" | "nichts",
    EditorOn: "on" | "an",
    EditorOff: "off" | "aus",
    EditorNumberWrong: "A whole number from {} to {}." | "Eine ganze Zahl von {} bis {}.",
    EditorMissing: "Something must stand here." | "Hier muss etwas stehen.",
    EditorRuleWrong: "Line {}: “{}” is not known here." | "Zeile {}: „{}“ ist hier nicht bekannt.",
    EditorWhen: "When it acts, and how far" | "Wann sie tätig wird, und wie weit",
    WhenMessages: "Also at so many messages word for word (0: not)" | "Auch bei so vielen Nachrichten im Wortlaut (0: nicht)",
    WhenIdle: "Also after so many quiet seconds, over its aim (0: not)" | "Auch nach so vielen stillen Sekunden, über dem Ziel (0: nicht)",
    WhenMark: "Also when a watermark is set" | "Auch wenn ein Wasserzeichen gesetzt wird",
    EscalateWhen: "Goes on after the first steps" | "Geht nach den ersten Schritten weiter",
    EscalateTarget: "until its aim is reached" | "bis das Ziel erreicht ist",
    EscalateWeak: "if they freed less than this" | "wenn sie weniger als dies frei machten",
    EscalateTokens: "Tokens freed" | "Freie Tokens",
    EscalateShare: "At most this share of the window, %" | "Höchstens dieser Anteil am Fenster, %",
    EditorForm: "How layers are written and sent" | "Wie Schichten geschrieben und gesandt werden",
    FormHeadings: "Headings of a summary" | "Überschriften einer Zusammenfassung",
    HeadingsLevel: "by how detailed it is" | "je nach Ausführlichkeit",
    HeadingsEight: "eight fixed ones" | "acht feste",
    HeadingsShort: "the short form" | "die kurze Form",
    FormRole: "Layers are sent as" | "Schichten werden gesandt als",
    FormDemands: "What you demand for the whole conversation stands" | "Was du für das ganze Gespräch vorgibst, steht",
    DemandsLayer: "at the head of the layers" | "am Anfang der Schichten",
    DemandsSystem: "in the system message" | "in der Systemnachricht",
    DemandsOff: "nowhere: do not look for it" | "nirgends: nicht danach suchen",
    RoleUser: "a message of the user" | "Nachricht der Person",
    RoleAssistant: "a message of the model" | "Nachricht des Modells",
    RoleSystem: "part of the system message" | "Teil der Systemnachricht",
    FormPrefix: "Line before the layers" | "Zeile vor den Schichten",
    EditorSteps: "Numbers of the steps" | "Zahlen der Schritte",
    StripKeep: "Messages before the mark that keep their tool calls" | "Nachrichten vor der Marke, die ihre Werkzeugaufrufe behalten",
    StripBest: "Results that say the most, kept" | "Ergebnisse, die am meisten sagen, behalten",
    StripErrors: "Failed results stay" | "Fehlgeschlagene Ergebnisse bleiben",
    OffloadTokens: "Results up to so many tokens stay" | "Ergebnisse bis zu so vielen Tokens bleiben",
    OffloadShare: "Results up to this share of the window stay, %" | "Ergebnisse bis zu diesem Anteil am Fenster bleiben, %",
    OffloadBrief: "References without head and tail" | "Verweise ohne Anfang und Ende",
    EditorMarks: "Watermarks" | "Wasserzeichen",
    MarksEvery: "A mark every so many tokens (0: none)" | "Eine Marke alle so vielen Tokens (0: keine)",
    MarksTools: "Tools whose calls are marks" | "Werkzeuge, deren Aufrufe Marken sind",
    MarksTasks: "A mark where a new task begins" | "Eine Marke, wo eine neue Aufgabe beginnt",
    MarksSkills: "A mark when skills are switched on, too" | "Eine Marke auch, wenn Fähigkeiten dazukommen",
    EditorTools: "Tool output" | "Werkzeugausgaben",
    OutFloor: "Results under so many tokens stay" | "Ergebnisse unter so vielen Tokens bleiben",
    OutData: "JSON and YAML under so many tokens stay" | "JSON und YAML unter so vielen Tokens bleiben",
    OutErrors: "Errors up to this share of the window stay, %" | "Fehler bis zu diesem Anteil am Fenster bleiben, %",
    OutGain: "Shortened to at most this share, else left, %" | "Auf höchstens diesen Anteil verkürzt, sonst belassen, %",
    OutRules: "Rules, the first that fits: tools, what it looks like, lines>N, rows>N → method" | "Regeln, die erste passende gilt: Werkzeuge, Aussehen, lines>N, rows>N → Verfahren",
    OutOff: "Leave all tool output as it is" | "Alle Werkzeugausgaben belassen",
    RepeatFloor: "Repetitions under so many bytes stay" | "Wiederholungen unter so vielen Bytes bleiben",
    RepeatReads: "Tools that return a file" | "Werkzeuge, die eine Datei liefern",
    RepeatWrites: "Tools that replace a file" | "Werkzeuge, die eine Datei ersetzen",
    RepeatEdits: "Tools that change a part of a file" | "Werkzeuge, die einen Teil einer Datei ändern",
    RepeatPaths: "Arguments that name the file, the first that is there" | "Argumente, die die Datei nennen; das erste, das da ist",
    EditorBudgets: "Tokens of a system prompt before a warning" | "Tokens eines System-Prompts vor einer Warnung",
    BudgetMinimal: "Windows below 8K" | "Fenster unter 8K",
    BudgetBasic: "Windows below 16K" | "Fenster unter 16K",
    BudgetStandard: "Windows below 32K" | "Fenster unter 32K",
    BudgetPremium: "Windows below 64K" | "Fenster unter 64K",
    BudgetUltra: "Larger windows" | "Größere Fenster",
    Tried: "What it would do now" | "Was sie jetzt täte",
    TriedSizes: "Acts at {} of {} tokens, aims at {}; {} cannot shrink." | "Wird tätig bei {} von {} Tokens, zielt auf {}; {} können nicht schrumpfen.",
    TriedNow: "{} → ≈ {} tokens: a layer over {} messages ({}–{}); its writer reads {} tokens and writes at most {}." | "{} → ≈ {} Tokens: eine Schicht über {} Nachrichten ({}–{}); wer sie schreibt, liest {} Tokens und schreibt höchstens {}.",
    TriedPlain: "{} → ≈ {} tokens, without a layer." | "{} → ≈ {} Tokens, ohne Schicht.",
    OnlyFor: "Only for {}" | "Nur für {}",
    OnlyForHelp: "What stands here goes with this model, whatever is chosen for all." | "Was hier steht, gehört zu diesem Modell, was auch für alle gewählt ist.",
    OwnWindowWrong: "2,048 to 1,048,576 tokens, such as 16k." | "2.048 bis 1.048.576 Tokens, zum Beispiel 16k.",
    AsForAll: "as for all models" | "wie für alle Modelle",
    TopP: "Share of likely words (top p)" | "Anteil wahrscheinlicher Wörter (top p)",
    TopPWrong: "A number above 0, at most 1." | "Eine Zahl über 0, höchstens 1.",
    Seed: "Seed: the same words again" | "Startwert: dieselben Worte wieder",
    SeedWrong: "A whole number of 0 or more." | "Eine ganze Zahl ab 0.",
    KeepAlive: "Stays loaded" | "Bleibt geladen",
    KeepNone: "not at all" | "gar nicht",
    KeepShort: "five minutes" | "fünf Minuten",
    KeepUsual: "half an hour" | "eine halbe Stunde",
    KeepLong: "two hours" | "zwei Stunden",
    KeepEver: "for ever" | "für immer",
    ThinkFirst: "Thinks before it answers" | "Denkt, bevor es antwortet",
    ThinkOwn: "as it does by itself" | "wie es das von selbst tut",
    ThinkLow: "a little" | "wenig",
    ThinkMedium: "some" | "mittel",
    ThinkHigh: "much" | "viel",
    Profiles: "Profiles: settings that sessions share" | "Profile: Einstellungen, die Sitzungen teilen",
    ProfilesHelp: "Sessions with a profile have its policy for their model, and get every change of it. New sessions begin with it, too." | "Sitzungen mit einem Profil haben seine Regel für ihr Modell und bekommen jede Änderung. Auch neue Sitzungen beginnen damit.",
    ProfileOf: "This session uses" | "Diese Sitzung benutzt",
    ProfileNone: "none" | "keines",
    ProfileName: "Name" | "Name",
    ProfilePolicy: "Policy" | "Regel",
    ProfileChanged: "“{}”, changed" | "„{}“, geändert",
    ProfileRules: "Other policies by model, the first that fits, such as: qwen3* → watermark" | "Andere Regeln nach Modell, die erste passende gilt, etwa: qwen3* → watermark",
    ProfileAsPolicy: "as the policy has it" | "wie in der Regel",
    ProfileKeep: "Messages of the end that stay as they were said" | "Nachrichten am Ende, die im Wortlaut bleiben",
    ProfileLayer: "Tokens of a new layer at most" | "Tokens einer neuen Schicht höchstens",
    ProfileTries: "How often a model is asked for a summary" | "Wie oft ein Modell um eine Zusammenfassung gebeten wird",
    ProfileAt: "Compact at, in percent" | "Verdichten bei, in Prozent",
    ProfileFreed: "Summarise if offloading freed less, in tokens" | "Zusammenfassen, wenn Auslagern weniger frei machte, in Tokens",
    ProfileMark: "Snapshot at, in percent of the room" | "Schnappschuss bei, in Prozent des Raums",
    ProfileRecall: "Quote covered passages when a question asks for them" | "Gedeckte Stellen zitieren, wenn eine Frage sie braucht",
    ProfileStrategy: "What is covered" | "Was gedeckt wird",
    StrategySummary: "becomes a summary" | "wird zusammengefasst",
    StrategyCut: "is left out, with a line that says so" | "entfällt, mit einer Zeile, die es sagt",
    ProfileToolNames: "Names of the tools" | "Namen der Werkzeuge",
    ProfilePercentWrong: "A whole number from 1 to 100." | "Eine ganze Zahl von 1 bis 100.",
    ProfileRuns: "Compact without being asked" | "Ungefragt verdichten",
    ProfileSnapshots: "Take snapshots without being asked" | "Ungefragt Schnappschüsse machen",
    ProfileRollover: "Go on in a new session when nothing else helps" | "In einer neuen Sitzung weitermachen, wenn nichts anderes hilft",
    ProfileTools: "Let the model look up what is covered, with tools (about 300 tokens)" | "Das Modell Gedecktes nachschlagen lassen, mit Werkzeugen (etwa 300 Tokens)",
    ProfileSave: "Save and use" | "Sichern und benutzen",
    ProfileSaved: "“{}” is saved." | "„{}“ ist gesichert.",
    ProfileRemove: "Remove “{}”" | "„{}“ entfernen",
    Temperature: "Temperature" | "Temperatur",
    TemperatureHelp: "0 to 2: how freely the model chooses its words" | "0 bis 2: wie frei das Modell seine Worte wählt",
    TemperatureOwn: "the model’s own" | "die des Modells",
    TemperatureWrong: "A temperature is a number from 0 to 2." | "Eine Temperatur ist eine Zahl von 0 bis 2.",

    // library
    PinnedSessions: "Pinned" | "Angepinnt",
    PinSession: "Pin session" | "Sitzung anpinnen",
    Unpin: "Unpin session" | "Sitzung lösen",
    Duplicate: "Duplicate session" | "Sitzung verdoppeln",
    Duplicated: "Duplicated. This is the copy." | "Verdoppelt. Das ist die Kopie.",
    CopyOf: "{} (copy)" | "{} (Kopie)",
    SearchAll: "Search titles, messages and layers" | "Titel, Nachrichten und Schichten durchsuchen",
    SearchIn: "Search in" | "Suchen in",
    ScopeTitles: "titles" | "Titeln",
    ScopeMessages: "messages" | "Nachrichten",
    ScopeLayers: "layers" | "Schichten",
    ScopeNone: "Tick where to look." | "Kreuze an, wo gesucht werden soll.",
    PlacesOne: "{} place" | "{} Stelle",
    PlacesMany: "{} places" | "{} Stellen",
    PlacesAnd: "and {} more" | "und {} weitere",
    PlacesMore: "{} more, which are not listed" | "{} weitere, die nicht aufgeführt sind",
    FoundNothing: "These words stand nowhere." | "Diese Worte stehen nirgends.",
    InMessage: "in message {}" | "in Nachricht {}",
    LastExport: "Last export" | "Letzter Export",
    ExportNever: "Never" | "Nie",
    ExportDaysAgo: "{} days ago" | "vor {} Tagen",
    ExportNow: "Export now" | "Jetzt exportieren",
    ExportAll: "Export all" | "Alles exportieren",
    ExportSettings: "Export settings" | "Einstellungen exportieren",
    DataFiles: "Files" | "Dateien",
    DataSessionsHelp: "All sessions and profiles as one file, to be imported here or in another browser. What is there already stays once." | "Alle Sitzungen und Profile als eine Datei, zum Importieren hier oder in einem anderen Browser. Was schon da ist, bleibt einmal.",
    DataSettingsHelp: "Settings and profiles as a file, without keys." | "Einstellungen und Profile als Datei, ohne Schlüssel.",
    ExportedAll: "{} sessions exported." | "{} Sitzungen exportiert.",
    SaveFailed: "The browser did not take the file." | "Der Browser nahm die Datei nicht an.",
    ExportUnread: "{} could not be read and are not in the file." | "{} waren nicht lesbar und fehlen in der Datei.",
    Tabs: "Other tabs" | "Andere Tabs",
    TabsNone: "None" | "Keine",
    TabsOpen: "{} open" | "{} offen",
    TabsWrite: "this one writes the open session" | "dieser schreibt die offene Sitzung",
    TabsFollow: "another one writes the open session; this one reads along" | "ein anderer schreibt die offene Sitzung; dieser liest mit",
    StoredByKind: "Storage by kind" | "Speicher nach Art",
    StoredTools: "Tool results" | "Werkzeugergebnisse",
    StoredVocabularies: "Vocabularies" | "Vokabulare",
    StoredLayers: "Layers, notes" | "Schichten, Notizen",
    Integrity: "Check integrity" | "Unversehrtheit prüfen",
    IntegrityReading: "Reading back: {} of {} sessions" | "Wird zurückgelesen: {} von {} Sitzungen",
    IntegrityGood: "Everything is there and as it was written." | "Alles ist da und so, wie es geschrieben wurde.",
    IntegrityRead: "Read back: {}, {}. Checksums, numbers, layers’ ranges and large texts agree." | "Zurückgelesen: {}, {}. Prüfsummen, Nummern, Bereiche der Schichten und große Texte stimmen.",
    IntegrityBad: "Not as it was written, in places: {}." | "Nicht so, wie es geschrieben wurde, an Stellen: {}.",
    IntegrityHelp: "Everything else can still be read. Export it now: a message that is damaged or lost is marked in the file, and the file can be imported here or elsewhere." | "Alles andere ist noch lesbar. Exportiere es jetzt: Eine schadhafte oder verlorene Nachricht ist in der Datei bezeichnet, und die Datei lässt sich hier oder anderswo importieren.",
    RowMessage: "message {}" | "Nachricht {}",
    RowForm: "the shorter form of message {}" | "die kürzere Form von Nachricht {}",
    RowLayer: "layer row {}" | "Schichtzeile {}",
    RowNote: "note row {}" | "Notizzeile {}",
    RowSnapshot: "snapshot {}" | "Schnappschuss {}",
    RowRevision: "revision {}" | "Revision {}",
    RowRecord: "record {}" | "Aufzeichnung {}",
    FaultHead: "its head cannot be read, so it is in no list" | "ihr Kopf ist nicht lesbar, darum steht sie in keiner Liste",
    FaultNewer: "a newer version of palimpsest wrote it; it was not checked" | "eine neuere Version von palimpsest schrieb sie; sie wurde nicht geprüft",
    FaultPath: "the conversation shown is shorter than it was" | "das gezeigte Gespräch ist kürzer, als es war",
    FaultDamaged: "{} cannot be read or was altered" | "{} ist nicht lesbar oder verändert",
    FaultMissing: "{} is missing" | "{} fehlt",
    FaultGap: "messages {}–{} are missing" | "Nachrichten {}–{} fehlen",
    FaultBroken: "message {} follows one that is missing" | "Nachricht {} folgt auf eine, die fehlt",
    FaultText: "a large text of message {} is missing or was altered" | "ein großer Text von Nachricht {} fehlt oder ist verändert",
    FaultRange: "layer row {} covers messages that were never said" | "Schichtzeile {} deckt Nachrichten, die nie gesagt wurden",
    Erase: "Erase everything" | "Alles löschen",
    EraseNow: "Erase for good" | "Endgültig löschen",
    EraseText: "All sessions ({}) with everything said in them, their layers and snapshots are removed from this browser. Nobody can bring them back. Settings stay." | "Alle Sitzungen ({}) mit allem Gesagten, ihren Schichten und Schnappschüssen werden aus diesem Browser entfernt. Niemand kann sie zurückholen. Einstellungen bleiben.",
    EraseKept: "All sessions are erased. A message could not be read, so nobody knows which large texts were its own: they stay in the store." | "Alle Sitzungen sind gelöscht. Eine Nachricht war nicht lesbar, darum weiß niemand, welche großen Texte zu ihr gehörten: Sie bleiben im Speicher.",
    Erased: "Everything is erased." | "Alles ist gelöscht.",

    // doctor
    DoctorUp: "The server answers." | "Der Server antwortet.",
    DoctorUpVersion: "The server answers (Ollama {})." | "Der Server antwortet (Ollama {}).",
    DoctorAllowed: "This page may read its answers." | "Diese Seite darf seine Antworten lesen.",
    DoctorModelsOne: "It has {} model." | "Er hat {} Modell.",
    DoctorModelsMany: "It has {} models." | "Er hat {} Modelle.",
    DoctorModelAnswers: "The model answers." | "Das Modell antwortet.",
    DoctorWindow: "The loaded copy has a window of {} tokens." | "Die geladene Kopie hat ein Fenster von {} Tokens.",
    DoctorOldVersion: "Ollama {} is old: versions before 0.17.1 have a known security hole, and may cut long prompts without saying so." | "Ollama {} ist alt: Versionen vor 0.17.1 haben eine bekannte Sicherheitslücke und schneiden lange Prompts womöglich stillschweigend ab.",
    DoctorWindowBeyond: "You asked for a window of {} tokens, but {} was made for {}; the server will not give more." | "Gewünscht sind {} Tokens Fenster, aber {} ist für {} gemacht; mehr gibt der Server nicht.",
    DoctorWindowSmaller: "You asked for {} tokens, but the loaded copy has {}." | "Gewünscht sind {} Tokens, aber die geladene Kopie hat {}.",
    DoctorBadAddress: "“{}” is not an address of a server." | "„{}“ ist keine Adresse eines Servers.",
    DoctorMixed: "This page is loaded over https, so the browser does not let it talk to {} over plain http." | "Diese Seite kam über https, deshalb lässt der Browser sie nicht über einfaches http mit {} sprechen.",
    DoctorLocalNetwork: "The browser does not let this page reach servers on this machine or network (“Local network access”)." | "Der Browser lässt diese Seite keine Server auf diesem Rechner oder im Netz erreichen („Zugriff auf lokales Netzwerk“).",
    DoctorDown: "Nothing answers at {}." | "Unter {} antwortet nichts.",
    DoctorFilePage: "The server is up, but it refuses pages that were opened as a file." | "Der Server läuft, lehnt aber Seiten ab, die als Datei geöffnet wurden.",
    DoctorRefused: "The server is up, but it refuses pages from {}." | "Der Server läuft, lehnt aber Seiten von {} ab.",
    DoctorKey: "The server asks for a key, or does not accept the one given." | "Der Server verlangt einen Schlüssel oder nimmt den gegebenen nicht an.",
    DoctorBusy: "The server is busy or still loading." | "Der Server ist beschäftigt oder lädt noch.",
    DoctorNoServer: "Something answers at {}, but it is not such a server ({})." | "Unter {} antwortet etwas, aber es ist kein solcher Server ({}).",
    DoctorNoModel: "The server has no model installed." | "Auf dem Server ist kein Modell installiert.",
    DoctorModelMissing: "The model “{}” is not installed." | "Das Modell „{}“ ist nicht installiert.",
    DoctorModelFails: "The model does not answer: {}" | "Das Modell antwortet nicht: {}",
    CureAddress: "Write it like this:" | "So wird sie geschrieben:",
    CureMixedHttp: "Open palimpsest over http from a machine in the same network, or" | "Öffne palimpsest über http von einem Rechner im selben Netz, oder",
    CureMixedHttps: "put the server behind https, or use the server on this machine:" | "stelle den Server hinter https, oder nimm den Server auf diesem Rechner:",
    CureLocalNetwork: "Click the sign left of the address, open the site settings, and set “Local network access” to “Allow”; then reload." | "Klicke auf das Zeichen links der Adresse, öffne die Website-Einstellungen und erlaube den „Zugriff auf lokales Netzwerk“; lade dann neu.",
    CureLocalFrame: "In a frame, the page around it must allow it:" | "In einem Rahmen muss die Seite darum es erlauben:",
    CureStartLinux: "Start Ollama (or install it first):" | "Starte Ollama (oder installiere es zuerst):",
    CureStartMac: "Start the Ollama app (or install it first):" | "Starte die Ollama-App (oder installiere sie zuerst):",
    CureStartWindows: "Start Ollama from the Start menu (or install it first)." | "Starte Ollama aus dem Startmenü (oder installiere es zuerst).",
    CureStartDocker: "Start the container with its port published:" | "Starte den Container mit veröffentlichtem Port:",
    CureStartOther: "Start the model server, and check the address and the port." | "Starte den Modellserver und prüfe Adresse und Port.",
    CureServe: "Serve palimpsest instead of opening its file; from its folder:" | "Stelle palimpsest bereit, statt die Datei zu öffnen; in seinem Ordner:",
    CureOriginLinux: "Add the setting to the service, then restart it:" | "Füge dem Dienst die Einstellung hinzu und starte ihn neu:",
    CureOriginMac: "Set it, then quit the Ollama app and start it again:" | "Setze sie, beende dann die Ollama-App und starte sie neu:",
    CureOriginWindows: "Set it, then quit Ollama in the task bar and start it again:" | "Setze sie, beende dann Ollama in der Taskleiste und starte es neu:",
    CureOriginDocker: "Start the container with the setting:" | "Starte den Container mit der Einstellung:",
    CureOriginOther: "Allow this origin in the server’s settings (CORS):" | "Erlaube diese Herkunft in den Einstellungen des Servers (CORS):",
    CureUpdateLinux: "Run the installer again; it updates Ollama and keeps the models." | "Führe das Installationsprogramm noch einmal aus; es aktualisiert Ollama und behält die Modelle.",
    CureUpdateApp: "Choose “Restart to update” in the menu of the Ollama app." | "Wähle im Menü der Ollama-App „Restart to update“.",
    CureUpdateDocker: "Fetch the image again and recreate the container:" | "Hole das Image erneut und erzeuge den Container neu:",
    CureKey: "Enter the key in the settings of this connection." | "Trage den Schlüssel in den Einstellungen dieser Verbindung ein.",
    CureBusy: "Wait a moment, then test again." | "Warte einen Moment und prüfe dann noch einmal.",
    CureNoServer: "Check the address and the port, or choose the other kind of server in the settings." | "Prüfe Adresse und Port, oder wähle in den Einstellungen die andere Art von Server.",
    CureModelFails: "Try a smaller model or a smaller window; the server’s log says more." | "Versuche ein kleineres Modell oder ein kleineres Fenster; das Protokoll des Servers sagt mehr.",
    CureAtMost: "Choose at most {}." | "Wähle höchstens {}.",

    // failure
    PartMissing: "A part of this page could not be loaded. Your data is safe. Try again, or reload the page." | "Ein Teil dieser Seite konnte nicht geladen werden. Deine Daten sind sicher. Versuch es noch einmal, oder lade die Seite neu.",
    Crashed: "Something in this page broke. Your data is safe: it is stored message by message as you go. Reload the page to continue." | "Etwas in dieser Seite ist kaputtgegangen. Deine Daten sind sicher: jede Nachricht wird sofort gespeichert. Lade die Seite neu, um weiterzumachen.",
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every text has the same number of gaps in both languages, is said once, and keeps the table's
    /// words: compaction, never compression; no exclamation marks.
    #[test]
    fn the_table_is_consistent() {
        let mut names = BTreeSet::new();
        for (name, en, de) in ALL {
            assert!(names.insert(format!("{name:?}")));
            assert_eq!(
                en.matches("{}").count(),
                de.matches("{}").count(),
                "{name:?}"
            );
            assert!(!en.is_empty() && !de.is_empty(), "{name:?}");
            for text in [en, de] {
                assert!(!text.contains('!'), "{name:?}");
                assert!(
                    !text.to_lowercase().contains("compress")
                        && !text.to_lowercase().contains("kompr"),
                    "{name:?}"
                );
            }
        }
        assert!(names.len() > 100);
    }

    /// The sources of the page, without their tests.
    fn sources(folder: &std::path::Path, all: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, all);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
                all.push((path.display().to_string(), code.to_owned()));
            }
        }
    }

    /// The arguments of the call whose opening bracket stands at the beginning of `code`, and of lists as one.
    fn arguments(code: &str) -> Vec<String> {
        let (mut depth, mut quoted, mut escaped) = (0, false, false);
        let mut all = vec![String::new()];
        for c in code.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = quoted,
                '"' => quoted = !quoted,
                '(' | '[' | '{' if !quoted => depth += 1,
                ')' | ']' | '}' if !quoted => depth -= 1,
                ',' if !quoted && depth == 1 => {
                    all.push(String::new());
                    continue;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
            all.last_mut().unwrap().push(c);
        }
        if let Some(first) = all.first_mut().filter(|first| !first.is_empty()) {
            first.remove(0);
        }
        let all = all.iter().map(|a| a.trim().to_owned());
        all.filter(|a| !a.is_empty()).collect()
    }

    /// No sentence reaches a page with an open gap, in either language: every place that says a text gives it as many values
    /// as it has gaps.
    #[test]
    fn every_gap_is_filled_where_a_text_is_said() {
        let mut all = Vec::new();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        sources(&root, &mut all);
        let texts: std::collections::BTreeMap<String, (usize, usize)> = ALL
            .iter()
            .map(|(name, en, de)| {
                let gaps = (en.matches("{}").count(), de.matches("{}").count());
                (format!("T::{name:?}"), gaps)
            })
            .collect();
        let mut said = 0;
        for (path, code) in &all {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            for call in ["fill(", "t(", "count("] {
                for (at, _) in code.match_indices(call) {
                    if code[..at].ends_with(|c| is_word(c) || c == '.' || c == '!') {
                        continue;
                    }
                    let given = arguments(&code[at + call.len() - 1..]);
                    let Some((en, de)) = given.first().and_then(|name| texts.get(name)) else {
                        continue;
                    };
                    let values = match call {
                        "t(" => 0,
                        "count(" => 1,
                        _ => match given[1].strip_prefix('&') {
                            Some(list) if list.starts_with('[') => arguments(list).len(),
                            // a list made elsewhere: `fill` itself looks at its length
                            _ => continue,
                        },
                    };
                    let fits = |gaps: usize| gaps == values || call == "count(" && gaps < values;
                    assert!(
                        fits(*en) && fits(*de),
                        "{path}: {} has {en} gaps and is given {values} values",
                        given[0]
                    );
                    said += 1;
                }
            }
        }
        assert!(said > 500, "{said}");
    }

    #[test]
    fn numbers_are_set_as_the_language_does() {
        let check = |n, en: &str| assert_eq!(number(n), en);
        check(0, "0");
        check(999, "999");
        check(1000, "1,000");
        check(1_048_576, "1,048,576");
        assert_eq!(decimal(31.24), "31.2");
        assert_eq!(decimal(9.96), "10.0");
        assert_eq!(seconds(3840.0), "3.8 s");
        assert_eq!(seconds(41.6), "42 ms");
        assert_eq!(bytes(412_000.0), "412 KB");
        assert_eq!(bytes(38_400_000.0), "38 MB");
        assert_eq!(bytes(4_200_000.0), "4.2 MB");
        assert_eq!(
            fill(T::CardPair, &["6,204", "3,665"]),
            "The window before: 6,204 tokens. After: 3,665."
        );
        assert_eq!(count(T::SessionsOne, T::SessionsMany, 1), "1 session");
        assert_eq!(count(T::SessionsOne, T::SessionsMany, 7), "7 sessions");
    }

    #[test]
    fn the_first_language_we_have_is_taken() {
        let tags = |list: &[&str]| {
            Language::preferred(&list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(tags(&["fr", "de-CH", "en"]), Language::German);
        assert_eq!(tags(&["en-GB", "de"]), Language::English);
        assert_eq!(tags(&["ja"]), Language::English);
        assert_eq!(tags(&["é"]), Language::English);
    }
}
