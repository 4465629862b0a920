//! Small word classes that tell a statement from small talk: greetings and praise, pronouns, words of time.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Plain;
use super::terms::each_term;

/// Greetings, thanks, praise, interjections.
pub(crate) const FILLER: u8 = 1;
/// A pronoun of the first person.
pub(crate) const FIRST: u8 = 2;
/// A pronoun of the second person.
pub(crate) const SECOND: u8 = 4;
/// A word of time.
pub(crate) const TIME: u8 = 8;
/// A contraction of small words.
pub(crate) const CONTRACTION: u8 = 16;
/// A word that announces that something is another than before.
pub(crate) const CHANGE: u8 = 32;

#[rustfmt::skip]
const CLASSES: [(u8, &str); 6] = [
    (FILLER,
     // English
     "wow great awesome sounds sound thanks thank glad hey hi hello amazing cool nice good sure yeah yes yep ok okay oh \
      absolutely definitely totally really haha lol welcome bye goodbye congrats congratulations wonderful fantastic \
      lovely sweet super happy love hope guess think know see well right proud exciting excited awesome incredible \
      inspiring appreciate support luck cheers friend fun wish talk chat catch feel feels best perfect excellent alright \
      sorry course pleasure certainly indeed hear agree care wait \
      hallo danke dank super toll klasse schön gut prima genau freut freue gern gerne tschüss cool wirklich echt \
      natürlich klar okay stimmt wow wunderbar perfekt sicher moin servus glückwunsch liebe hoffe glaube spaß \
      bonjour salut merci super génial cool bien sûr parfait bravo félicitations vraiment oui d'accord content contente \
      heureux heureuse adore espère crois bisous coucou magnifique chouette ravi ravie plaisir excellent \
      hola gracias genial bien buenos buenas claro vale perfecto bueno guay felicidades encanta espero creo verdad \
      encantado alegro alegra increíble maravilloso estupendo saludos adiós suerte gusto seguro \
      olá oi obrigado obrigada legal bom boa ótimo claro perfeito parabéns adoro espero acho verdade beleza tchau \
      maravilhoso incrível certo feliz prazer sorte \
      ciao grazie bene bello bella fantastico perfetto certo davvero complimenti adoro spero credo vero felice \
      contento contenta piacere prego salve magnifico ottimo bravo brava \
      привет спасибо отлично здорово круто хорошо класс супер рад рада правда конечно ладно пока поздравляю \
      ありがとう すごい こんにちは いいね うれしい よかった 素敵 なるほど おめでとう \
      谢谢 你好 太好了 真棒 不错 高兴 加油 恭喜 好的 哈哈 是的 再见"),
    (FIRST,
     "i me my mine myself we us our ours i'm i've i'll i'd we're we've we'll \
      ich mich mir mein meine meinen meinem meiner wir uns unser unsere unseren \
      je j'ai moi mon ma mes nous notre nos \
      yo mi mis conmigo nosotros nuestro nuestra mío \
      eu meu minha meus minhas nós nosso nossa comigo \
      io mio mia miei mie noi nostro nostra \
      я меня мне мной мой моя моё мои мы нас нам наш наша \
      私 僕 俺 我 我们"),
    (SECOND,
     "you your yours yourself you're you've you'll you'd ya \
      du dich dir dein deine deinen deinem ihr euch euer \
      tu te toi ton ta tes vous votre vos \
      tú ti contigo usted ustedes tuyo vosotros \
      você vocês seu sua teu tua contigo \
      tuo tua tuoi voi vostro vostra \
      ты тебя тебе твой твоя вы вас вам ваш ваша \
      あなた 你 您 你们"),
    (TIME,
     "yesterday today tomorrow tonight ago last next week weekend month year morning evening night afternoon monday tuesday \
      wednesday thursday friday saturday sunday january february april june july august september october november \
      december spring summer autumn fall winter since until recently soon birthday anniversary daily weekly deadline \
      gestern heute morgen vorgestern übermorgen vor letzte letzten letztes nächste nächsten woche wochenende monat jahr \
      montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember \
      frühling sommer herbst winter geburtstag abend nacht \
      hier aujourd'hui demain semaine mois année an dernier dernière prochain prochaine lundi mardi mercredi jeudi \
      vendredi samedi dimanche janvier février mars avril juin juillet août septembre octobre novembre décembre été hiver \
      printemps automne matin soir nuit anniversaire \
      ayer hoy mañana semana mes año pasado pasada próximo próxima lunes martes miércoles jueves viernes sábado domingo \
      enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre verano invierno primavera \
      otoño noche tarde cumpleaños hace \
      ontem hoje amanhã semana mês ano passado passada próximo próxima segunda terça quarta quinta sexta sábado domingo \
      janeiro fevereiro março abril maio junho julho setembro outubro dezembro verão inverno aniversário noite \
      ieri oggi domani settimana mese anno scorso scorsa prossimo prossima lunedì martedì mercoledì giovedì venerdì \
      sabato domenica gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre estate inverno compleanno \
      sera notte fa \
      вчера сегодня завтра неделя неделю неделе месяц год назад понедельник вторник среда четверг пятница пятницу суббота \
      воскресенье января февраля марта апреля мая июня июля августа сентября октября ноября декабря лето зима утром вечером \
      昨日 今日 明日 先週 来週 先月 来月 去年 来年 昨天 今天 明天 上周 下周 上个月 下个月 明年 星期 月曜 火曜 水曜 木曜 金曜 土曜 日曜"),
    (CHANGE,
     "now new instead actually rather changed change changes moved moves raised raising lowered cut updated update correction \
      corrected replaced replaces void cancelled canceled postponed rescheduled switched longer anymore \
      jetzt neu neue neuer neues neuen statt stattdessen geändert ändert verschoben verlegt erhöht gesenkt korrektur doch \
      ersetzt ungültig storniert umgebucht nunmehr eigentlich \
      ahora nuevo nueva nuevos nuevas cambiado cambió cambia cambiamos movido subido bajado corrección pospuesto aplazado anulado \
      vez sustituye finalmente \
      maintenant nouveau nouvelle nouveaux nouvelles plutôt changé change déplacé reporté corrigé annulé remplacé avancé \
      agora novo nova mudou mudado adiado corrigido \
      adesso ora nuovo nuova cambiato spostato corretto invece \
      теперь новый новая новое новые вместо изменили изменился изменилась перенесли перенесён перенесена поправка отменили \
      変更 今は 訂正 延期 新し 代わ 改め \
      改为 改到 改成 现在 更正 推迟 换成 新的 不再"),
    (CONTRACTION,
     "it's that's don't doesn't didn't can't won't isn't wasn't aren't weren't couldn't wouldn't shouldn't haven't hasn't \
      hadn't he's she's they're they've there's what's let's ain't gonna wanna gotta kinda lot bit"),
];

static LISTED: LazyLock<HashMap<u64, u8, Plain>> = LazyLock::new(|| {
    let mut table: HashMap<u64, u8, Plain> = HashMap::default();
    for (class, words) in CLASSES {
        for word in words.split_whitespace() {
            // parts of a compound are not the word
            each_term(word, |term| *table.entry(term.hash).or_insert(0) |= class);
        }
    }
    table
});

/// The classes of the word with this hash, as [`each_term`] gives it.
pub(crate) fn listed(term: u64) -> u8 {
    LISTED.get(&term).copied().unwrap_or(0)
}
