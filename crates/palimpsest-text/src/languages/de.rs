//! German.

use super::cue::Cue;
use super::rules::{BAN, Forms, Grammar, Test, When};
use super::tables::{Choice, Pasted, Personal, Quantities, Refusal, RuleWords, Standing, Tables, Time, TimeUnit, TimeWord, Worth};

use Cue as C;
use Test as T;
use When as W;

pub(super) const TABLES: Tables = Tables {
    letters: &[("äöüß", 0.15)],
    small_words: "der die und das ist nicht ich sie ein eine zu den mit von auf es im dem für sich auch als wir aber wie \
             noch nach bei aus wenn nur werden bitte kann hat haben sind war wird oder einen einem einer mir mich \
             dich du ihr uns dass keine kein immer dann schon sehr mehr über durch unter zum zur vom am bis habe \
             meine dein sein doch hier was so man muss soll darf alle diese jetzt",
    open_ends: "der die das und oder mit von fur zu dass weil ein eine",
    abbreviations: "bzgl bzw d.h evtl ggf nr u.a usw vgl z.b ca",
    months_after_ordinals: "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    has_capital_nouns: true,
    worth: &Worth {
        filler: "hallo danke dank super toll klasse schön gut prima genau freut freue gern gerne tschüss cool \
                 wirklich echt natürlich klar okay stimmt wow wunderbar perfekt sicher moin servus glückwunsch liebe \
                 hoffe glaube spaß",
        first: "ich mich mir mein meine meinen meinem meiner wir uns unser unsere unseren",
        second: "du dich dir dein deine deinen deinem ihr euch euer",
        time: "gestern heute morgen vorgestern übermorgen vor letzte letzten letztes nächste nächsten woche \
                 wochenende monat jahr montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar \
                 märz mai juni juli oktober dezember frühling sommer herbst winter geburtstag abend nacht",
        change: "jetzt neu neue neuer neues neuen statt stattdessen geändert ändert \
                 verschoben verlegt erhöht gesenkt korrektur doch ersetzt ungültig storniert \
                 umgebucht nunmehr eigentlich nun künftig mittlerweile inzwischen verlängert \
                 verkürzt verspätet angehoben reduziert abgesagt aktualisiert korrigiert \
                 vorgezogen umbenannt getauscht umgezogen verringert vertagt angepasst",
        ..Worth::NONE
    },
    cues: CUES,
    grammar: Some(&Grammar::Spaced(Forms {
        frequency: &[&[
            T::Sentence(&W::EndsInInfinitive),
            T::Sentence(&W::IsImpersonal),
            T::Sentence(&W::Lacks(C::Past)),
        ]],
        forbids: &[
            BAN,
            (C::Dont, &[T::NotReported, T::NotThen(C::Idle), T::AfterOrder(10)]),
            // "Du darfst die Datei nicht …"
            (C::Dont, &[T::NotReported, T::NotThen(C::Idle), T::AfterAddress]),
            (
                C::Dont,
                &[
                    T::NotReported,
                    T::NotThen(C::Idle),
                    T::NoSubject,
                    T::HasNext,
                    T::Sentence(&W::Lacks(C::Past)),
                    T::Either(&[
                        &[T::LastIsFolded("bitte")],
                        &[
                            T::OpensClause,
                            T::Sentence(&W::EndsInInfinitive),
                            T::Sentence(&W::MostWords(14)),
                            T::Sentence(&W::IsImpersonal),
                        ],
                    ]),
                ],
            ),
        ],
        infinitives: "en ern eln",
        persons: "ich er es man",
        addressed: "du Du dU DU Sie ihr",
        tellers: "ich er",
        needs: "brauch",
        ..Forms::NONE
    })),
    standing: &Standing {
        phrases: include_str!("tables/de.txt"),
        ..Standing::NONE
    },
    personal: &Personal {
        leads: "und|aber|auch|also|bitte|beachte|denk daran|übrigens|hallo|hi|ok|okay|weil|da|hier|zur info|wichtig|generell",
        subjects: "ich|wir",
        states: "ich bin|wir sind|ich habe|wir haben|ich sitze",
        between: "eigentlich|persönlich|grundsätzlich|hier|überhaupt|auch|mich|mir|uns",
        denial_reach: 5,
        strict: "nie|niemals",
        loose: "nur|immer|ausschließlich",
        denials: "kein|keine|keinen|keinem|keiner|nicht",
        firm: "esse|trinke|fahre|fliege|reise|rauche|nutze|benutze|verwende|verwenden|nutzen|benutzen|vertrage|trage|kaufe|\
                 kaufen|buche|buchen|arbeite|arbeiten|deployen|erlauben|erlaube|akzeptiere|unterstützen|mergen|committen|\
                 spreche|schreibe|schreiben|koche|nehme|nehmen|mag|steige|zahle|zahlen|schwimme",
        passing: "habe|hab|haben|war|waren|bin|sind|weiß|glaube|denke|meine|finde|sehe|hatte|hätte|wurde|will|kann|könnte|\
                 möchte|brauche|verstehe|erinnere|wollte|dachte|wusste|sagte|ging|kam|muss|werde|hoffe|freue|würde|lasse",
        tastes: "bevorzuge|hasse|vermeide|meide|verabscheue|lehne|im rollstuhl|mag kein|mag keine|mag keinen",
        conditions: "allergisch|allergie|allergien|vegetarier|vegetarierin|vegetarisch|vegan|veganer|veganerin|zöliakie|\
                 laktoseintolerant|laktoseintoleranz|unverträglichkeit|glutenfrei|diabetiker|diabetikerin|rollstuhl|\
                 höhenangst|flugangst",
        moment: "heute|morgen|gestern|jetzt|gerade|diesmal|noch|mehr|früher|letzte|letztes|letzten|war|waren|hatte|hatten|als kind|\
                 im moment",
        done: "gebucht|bezahlt|bestellt|reserviert|bestätigt|gekauft|storniert|erledigt|unterschrieben",
        requests: "könntest du|kannst du|würdest du|könnten sie|können sie|würden sie|könntest du bitte|kannst du bitte|\
                 würdest du bitte|könnten sie bitte|es wäre schön wenn du|es wäre gut wenn du|wäre es möglich",
        lasting: "immer|nie|niemals|keine|kein|keinen|jedes|jeder|jede|stets|jedes mal|ab jetzt|von nun an|ab sofort|künftig|\
                 in zukunft|nur noch|aufhören",
        ..Personal::NONE
    },
    rules: &RuleWords {
            choices: &[
            (Choice::English, "englisch"),
            (Choice::German, "deutsch"),
            (Choice::French, "französisch"),
            (Choice::Spanish, "spanisch"),
            (Choice::Russian, "russisch"),
            (Choice::Chinese, "chinesisch"),
            (Choice::Japanese, "japanisch"),
            (Choice::Italian, "italienisch"),
            (Choice::Portuguese, "portugiesisch"),
            (Choice::Tabs, "tabulator tabulatoren"),
            (Choice::Spaces, "leerzeichen"),
            (Choice::Metric, "metrisch"),
            (Choice::Formal, "siezen sie"),
            (Choice::Informal, "duzen du"),
            (Choice::Light, "hell"),
            (Choice::Dark, "dunkel"),
            (Choice::Short, "kurz"),
            (Choice::Long, "ausführlich"),
            (Choice::Monday, "montag"),
            (Choice::Tuesday, "dienstag"),
            (Choice::Wednesday, "mittwoch"),
            (Choice::Thursday, "donnerstag"),
            (Choice::Friday, "freitag"),
            (Choice::Saturday, "samstag"),
            (Choice::Sunday, "sonntag"),
        ],
        frame: "bitte jetzt doch verwende nutze benutze",
        denials: "nie niemals nicht kein keine keinen statt",
        ..RuleWords::NONE
    },
    pasted: &Pasted {
        headers: "von|an|betreff|gesendet|datum|titel",
        formal_greetings: "sehr geehrte|lieber herr|liebe frau|liebes team",
        greetings: "liebe|hallo|guten tag",
        rules: "regel|vorgabe|vorlieben|wünsche",
        own: "mein meine meinen unser unsere ich wir",
        before_colon: "fass|zusammenfass|übersetz|korrigier|hier ist|hier sind|hier steht|folgende|unten|schrieb|schreibt|\
                 sagt|nachricht|brief|artikel|dokument|seite|kontext|quelle|ausgabe|ergebnis|antwort von|lies|prüf|\
                 umformulier|verbesser",
        before_text: "zusammenfass|fass |fasse |übersetz|korrigier|folgende|unten|hier ist d|diese mail|diesen text",
        ..Pasted::NONE
    },
    time: &Time {
        words: &[
            (TimeWord::Day(-1), "gestern"),
            (TimeWord::Day(-2), "vorgestern"),
            (TimeWord::Day(2), "ubermorgen"),
            (TimeWord::Last, "letzte,letzten,letztes,letzter,vergangene,vergangenen,vergangenes"),
            (TimeWord::Next, "nachste,nachsten,nachstes,nachster,kommende,kommenden,kommendes"),
            (TimeWord::Before, "vor"),
        ],
        counts: "ein,eine,einem,einer zwei drei vier funf sechs sieben acht neun zehn",
        units: &[
            (TimeUnit::Days, "tag,tagen,tage"),
            (TimeUnit::Weeks, "woche,wochen"),
            (TimeUnit::Weekend, "wochenende"),
            (TimeUnit::Months, "monat,monaten,monate"),
            (TimeUnit::Years, "jahr,jahren,jahre"),
            (TimeUnit::Weekday(0), "montag"),
            (TimeUnit::Weekday(1), "dienstag"),
            (TimeUnit::Weekday(2), "mittwoch"),
            (TimeUnit::Weekday(3), "donnerstag"),
            (TimeUnit::Weekday(4), "freitag"),
            (TimeUnit::Weekday(5), "samstag,sonnabend"),
            (TimeUnit::Weekday(6), "sonntag"),
        ],
        likening: "wie",
        months: "jan feb mar apr mai jun jul aug sep okt nov dez",
        ..Time::NONE
    },
    quantities: &Quantities {
        units: "grad gramm jahr jahre jahren minuten mio monat monate monaten mrd prozent sekunden stunde stunden \
                 tag tage tagen woche wochen",
        months: "april august dez dezember februar januar juli juni mai marz november okt oktober september",
        weekdays: "dienstag donnerstag freitag mittwoch montag samstag sonnabend sonntag",
        counts: "zwei drei vier fünf sechs sieben acht zehn zwölf",
        hours: "Uhr",
        magnitudes: "mio mrd",
        ..Quantities::NONE
    },
    refusal: &Refusal {
        openings: "es tut mir leid|tut mir leid|ich kann nicht|ich kann leider|ich kann dir|als ki|leider kann ich",
        declined: "helfen|zusammenfass|fortfahren|anfrage|bearbeiten|weiterhelfen|zugriff|sprachmodell",
        nothing: "keine",
        ..Refusal::NONE
    },
    errors: "fehler warnung",
    secrets: "passwort|kennwort",
    ..Tables::NONE
};

#[rustfmt::skip]
const CUES: &[(Cue, &str)] = &[
    (C::Never, "nie|niemals|nie wieder|nie mehr"),
    (C::Always, "immer|stets|jedes mal"),
    (C::Dont, "nicht|kein|keine|keinen|keinem|keiner|keinerlei"),
    (C::MustNot, "auf keinen fall|unter keinen umständen|darf nicht|dürfen nicht|darfst nicht|darf nie|dürfen nie|darf kein|darf keine|darf keinen|darfst kein|darfst keine|darfst keinen|dürfen keinerlei|sollst kein|sollst keine|sollst keinen|dürfen keine|dürfen keinen|darf niemals|darfst nie|sollst nicht|sollst nie|sollst niemals|sollen nicht|sollen nie|soll nie|soll nicht|solltest nie|sollten nie|ist verboten|sind verboten|ist tabu|nicht erlaubt|ist untersagt|keinesfalls|möchte nicht dass|will nicht dass"),
    (C::Must, "muss|müssen|musst"),
    (C::Should, "soll|sollst|sollen|solltest|sollten|sollte|musst|müssen|muss|darf|dürfen|darfst|achte darauf|denk daran|denke daran"),
    (C::Wish, "möchte dass|will dass|hätte gern dass|erwarte dass|wünsche mir dass"),
    (C::FromNow, "ab jetzt|ab sofort|von jetzt an|von nun an|ab nun|in zukunft|künftig|zukünftig|fortan|ab heute|für den rest|im weiteren verlauf|für alle weiteren|grundsätzlich"),
    (C::Only, "nur|ausschließlich|bloß"),
    (C::Avoid, "vermeide|vermeiden sie|vermeidet|verzichte|verzichten sie|unterlass|lass die finger|hör auf"),
    (C::Imperative, "verwende|verwendet|benutze|benutz|nutze|nutz|nimm|schreib|schreibe|antworte|sprich|rede|nenn|nenne|mach|mache|gib|lass|lasse|halt|halte|bleib|bleibe|achte|speicher|speichere|lösch|lösche|änder|ändere|frag|frage|zeig|zeige|füg|füge|setz|setze|stell|stelle|formatiere|übersetze|begründe|erkläre|zitiere|duze|sieze|rechne|runde|prüfe|prüf|teste|starte|beginne|beende|kürze|committe|pushe|fass|fasse|sag|sage|denk|denke|installiere|erwähne|verrate|teile|teil|buche|empfiehl|verwenden sie|benutzen sie|nutzen sie|nehmen sie|schreiben sie|antworten sie|sprechen sie|nennen sie|machen sie|geben sie|lassen sie|halten sie|bleiben sie|achten sie|speichern sie|löschen sie|ändern sie|fragen sie|zeigen sie|fügen sie|setzen sie|erklären sie|prüfen sie|testen sie"),
    (C::Answer, "antworte|antworten|antwort|antworten sie|sprich|schreib mir|schreibe mir|rede"),
    (C::Tongue, "deutsch|englisch|französisch|spanisch|italienisch|russisch|chinesisch|japanisch|portugiesisch|niederländisch|polnisch|türkisch"),
    (C::Every, "jedes mal|immer wenn|bei jeder antwort|in jeder antwort|wann immer"),
    (C::Ensure, "achte darauf|achten sie darauf|stell sicher|stelle sicher|stellen sie sicher|sorge dafür|sorg dafür"),
    (C::All, "alle|allen|jede|jeder|jedes|jeden|immer|nie|kein|keine|keinen"),
    (C::Budget, "budget|kostenrahmen|preisgrenze"),
    (C::Cap, "höchstens|maximal|nicht mehr als|nicht teurer als|nicht länger als|nicht über|bis zu|maximum|obergrenze"),
    (C::Under, "unter|weniger als|mindestens|innerhalb von"),
    (C::Deadline, "deadline|frist|abgabetermin|abgabefrist|stichtag|fällig|abgabe ist"),
    (C::By, "bis|bis zum|bis spätestens|spätestens|spätestens am|vor dem"),
    (C::Need, "muss|müssen|brauche|brauchen|fertig|abgeben|abgegeben|liefern|geliefert|einreichen|eingereicht|fertigstellen|online|erledigt|live"),
    (C::Subject, "ich|er|es|man|das|der|die|mein|meine|sie|ihr|niemand|jeder"),
    (C::We, "wir"),
    (C::Spend, "ausgeben|kosten|zahlen|bezahlen"),
    (C::You, "du|sie|ihr"),
    (C::Reported, "sagt|sagte|sagen|laut|meinte|behauptet|heißt es|steht|gesagt|schreibt|schrieb|meint"),
    (C::OneShot, "noch nicht|jetzt nicht|diesmal|dieses mal|vorerst|heute nicht|erst mal|erstmal|im moment|gerade"),
    (C::Story, "gesehen|gehört|gedacht|gewesen|noch|wieder mal|so"),
    (C::Idle, "sorge|sorgen|ahnung|angst|problem|panik|vergiss|keine ursache|stress|mehr als|nur|schlimm|zeit|lust|idee|wunder|zweifel"),
    (C::Filler, "bitte|und|aber|also|auch|dann|außerdem|wichtig|hinweis|regel|ok|okay|nochmal|übrigens|denn|weil|ach|ja|nein|oder|zudem"),
    (C::Past, "war|waren|hatte|hatten|wurde|wurden|habe|hat|haben|hast|bin|gewesen|ging"),
    (C::Permission, "du darfst|sie dürfen|du kannst|sie können|es ist ok|ist erlaubt|ist in ordnung|musst nicht mehr|brauchst nicht mehr|muss nicht mehr"),
    (C::Change, "jetzt|doch|nicht mehr|stattdessen|wieder|ab jetzt|nun|meinung geändert"),
    (C::Decision, "wir haben uns entschieden|haben entschieden|habe mich entschieden|entschieden|entscheidung|wir nehmen|ich nehme|wir verwenden|wir nutzen|lass uns|einigen uns|geeinigt|beschlossen|festgelegt|wir machen|wir bleiben bei|der plan ist|fiel auf"),
    (C::Preference, "ich mag|ich bevorzuge|bevorzuge|lieber|am liebsten|ich hätte gern|ich hätte gerne|ich möchte|mir gefällt|ich hasse|lieblings|ich esse kein|ich esse keine|ich trinke kein|ich trinke keinen|vegetarier|vegetarierin|vegan|allergisch|ich will|mir ist wichtig"),
    (C::Negation, "nie|niemals|nicht|kein|keine|keinen|ohne|außer|nicht mehr|weder|statt"),
    (C::Question, "was|warum|wie|wann|wo|wer|welche|welcher|welches|kannst du|können sie|könntest du|soll ich|sollen wir|gibt es"),
];
