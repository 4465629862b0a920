//! The words that make a number a quantity or a date: units, months, weekdays, numbers in words.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::words::Plain;
use crate::words::terms::fold_hash;

/// A unit of measure or a counter.
pub(crate) const UNIT: u8 = 1;
/// The name of a month.
pub(crate) const MONTH: u8 = 2;
/// The full name of a weekday.
pub(crate) const WEEKDAY: u8 = 4;
/// A number in words.
pub(crate) const COUNT: u8 = 8;

const UNITS: &str = "a anos ans b bar bit bits bps byte bytes c calls cent centimos cents characters chars chf cm \
    columns cores day days db dias dolares dollar dollars e em errors eur euro euros f feet \
    files foot fps ft g gallons gb gbp ghz gib grad gramm grams h ha heure heures hora horas \
    hour hours hp hr hrs hz in inch inches items jahr jahre jahren jour jours jpy k kb kbit kbps \
    kcal kg khz kib kilo kilometer kilometers kilometres kilos km kmh kw kwh l lb lbs lines \
    liter liters litre litres m m2 ma mb mbit mbps mcg messages meter meters metres metros mg \
    mhz mi mib mile miles million millions millones min mins minute minuten minutes minutos mio \
    ml mm mo mois monat monate monaten month months mph mrd ms mw nm ns ounces oz pages \
    participants people percent persons petabytes pixels points pounds ppm prozent pt px qps rem \
    req requests retries rounds rows rpm rps rub s sec seconds secs sekunden semaines semanas \
    sqm std steps stunde stunden t tag tage tagen tb thousand tib times tokens toneladas tons ug \
    us usd users v vh vw w watt week weeks woche wochen words worker workers x yards year years \
    yen yuan год года дней дня долларов евро км лет минут процентов";

const MONTHS: &str = "abril agosto aout apr april aug august avril dec december decembre dez dezember diciembre \
    enero feb febrero februar february fevrier jan januar january janvier juillet juin jul juli \
    julio july jun june juni junio mai mar march mars marz marzo may mayo nov november novembre \
    noviembre oct october octobre octubre okt oktober sep sept september septembre septiembre \
    setiembre августа апреля декабря июля июня марта мая ноября октября сентября февраля январе \
    января январь март май июнь июль август";

const WEEKDAYS: &str = "dienstag dimanche domingo donnerstag freitag friday jeudi jueves lundi lunes mardi martes \
    mercredi miercoles mittwoch monday montag sabado samedi samstag saturday sonnabend sonntag \
    sunday thursday tuesday vendredi viernes wednesday воскресенье вторник вторника понедельник \
    понедельника пятница пятницу пятницы среда среду суббота субботу четверг";

const COUNTS: &str = "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty \
    sixty ninety hundred zwei drei vier fünf sechs sieben acht zehn zwölf dos tres cuatro cinco \
    diez deux trois quatre cinq dix два три";

static LISTED: LazyLock<HashMap<u64, u8, Plain>> = LazyLock::new(|| {
    let mut table: HashMap<u64, u8, Plain> = HashMap::default();
    let mut folded = String::new();
    for (flag, words) in [
        (UNIT, UNITS),
        (MONTH, MONTHS),
        (WEEKDAY, WEEKDAYS),
        (COUNT, COUNTS),
    ] {
        for word in words.split(' ') {
            *table.entry(fold_hash(word, &mut folded)).or_insert(0) |= flag;
        }
    }
    table
});

/// What `word` is listed as; `scratch` is overwritten.
pub(crate) fn listed(word: &str, scratch: &mut String) -> u8 {
    if word.len() > 26 {
        return 0;
    }
    LISTED.get(&fold_hash(word, scratch)).copied().unwrap_or(0)
}
