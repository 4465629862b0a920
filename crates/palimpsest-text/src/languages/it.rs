//! Italian.

use super::tables::{Tables, Time, TimeUnit, TimeWord, Worth};

pub(super) const TABLES: Tables = Tables {
    small_words: "il lo la i gli le di che e è un una in per con non si da del della dei sono come ma anche ho mi ti ci \
             questo questa alla nel nella più o se su al dal hai ha essere fare molto quando perché cosa sempre mai \
             solo dove tutto tutti lui lei noi voi loro mio tuo grazie sul delle ogni già",
    worth: &Worth {
        filler: "ciao grazie bene bello bella fantastico perfetto certo davvero complimenti adoro spero credo vero \
                 felice contento contenta piacere prego salve magnifico ottimo bravo brava",
        first: "io mio mia miei mie noi nostro nostra",
        second: "tuo tua tuoi voi vostro vostra",
        time: "ieri oggi domani settimana mese anno scorso scorsa prossimo prossima lunedì martedì mercoledì \
                 giovedì venerdì sabato domenica gennaio febbraio aprile maggio giugno luglio settembre ottobre \
                 dicembre estate inverno compleanno sera notte fa",
        change: "adesso ora nuovo nuova cambiato spostato corretto invece",
        ..Worth::NONE
    },
    time: &Time {
        words: &[
            (TimeWord::Day(-1), "ieri"),
            (TimeWord::Day(1), "domani"),
            (TimeWord::Day(2), "dopodomani"),
            (TimeWord::Last, "scorso,scorsa"),
            (TimeWord::Next, "prossimo,prossima"),
            (TimeWord::Ago, "fa"),
        ],
        counts: "un,uno,una due tre quattro cinque sei sette otto nove dieci",
        units: &[
            (TimeUnit::Days, "giorno,giorni"),
            (TimeUnit::Weeks, "settimana,settimane"),
            (TimeUnit::Weekend, "weekend"),
            (TimeUnit::Months, "mese,mesi"),
            (TimeUnit::Years, "anno,anni"),
            (TimeUnit::Weekday(0), "lunedi"),
            (TimeUnit::Weekday(1), "martedi"),
            (TimeUnit::Weekday(2), "mercoledi"),
            (TimeUnit::Weekday(3), "giovedi"),
            (TimeUnit::Weekday(4), "venerdi"),
            (TimeUnit::Weekday(5), "sabato"),
            (TimeUnit::Weekday(6), "domenica"),
        ],
        likening: "come",
        months: "gen feb mar apr mag giu lug ago set ott nov dic",
        ..Time::NONE
    },
    ..Tables::NONE
};
