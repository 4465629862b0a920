//! Spanish.

use super::cue::Cue;
use super::rules::{BAN, Forms, Grammar, Test};
use super::tables::{Choice, Pasted, Personal, Quantities, Refusal, RuleWords, Standing, Tables, Time, TimeUnit, TimeWord, Worth};

use Cue as C;
use Test as T;

pub(super) const TABLES: Tables = Tables {
    letters: &[("ñ", 0.4), ("¿¡", 1.0)],
    small_words: "el la de que y los las un una en por con para es no se lo del al como pero sus le ya o este sí porque \
             esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos uno ni ese eso mi tu \
             más qué está son fue ser tiene siempre nunca puede hacer favor usa ahora estoy tengo yo cada antes solo",
    open_ends: "el la los las y o de del que con para por",
    abbreviations: "ej p.ej sra",
    worth: &Worth {
        filler: "hola gracias genial bien buenos buenas claro vale perfecto bueno guay felicidades encanta espero \
                 creo verdad encantado alegro alegra increíble maravilloso estupendo saludos adiós suerte gusto \
                 seguro",
        first: "yo mi mis conmigo nosotros nuestro nuestra mío",
        second: "tú ti contigo usted ustedes tuyo vosotros",
        time: "ayer hoy mañana semana mes año pasado pasada próximo próxima lunes martes miércoles jueves viernes \
                 sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre \
                 diciembre verano invierno primavera otoño noche tarde cumpleaños hace",
        change: "ahora nuevo nueva nuevos nuevas cambiado cambió cambia cambiamos movido \
                 subido bajado corrección pospuesto aplazado anulado vez sustituye finalmente \
                 cambiada cambiaron movida subida bajada aumentado aumentó reducido reducida \
                 redujo trasladado trasladada retrasado retrasada adelantado adelantada \
                 ampliado ampliada rebajado rebajada pospuesta aplazada anulada modificado \
                 modificada actualizado actualizada actualización corregido sustituido \
                 reemplaza renombrado",
        ..Worth::NONE
    },
    cues: CUES,
    grammar: Some(&Grammar::Spaced(Forms {
        frequency: &[
            &[
                T::NotThen(C::Story),
                T::NextEnds("ar er ir"),
                T::NextLongerThan(3),
            ],
            &[T::NotThen(C::Story), T::Is(C::Always), T::Then(C::Imperative)],
            &[T::NotThen(C::Story), T::NextIsForbidden],
        ],
        forbids: &[
            BAN,
            (
                C::Dont,
                &[
                    T::NotReported,
                    T::NotThen(C::Idle),
                    T::NoSubject,
                    T::HasNext,
                    T::LastIsNot("que si"),
                ],
            ),
        ],
        object_pronouns: "me lo la le los las te",
        denial: "no",
        tellers: "yo",
        needs: "necesit",
        ..Forms::NONE
    })),
    standing: &Standing {
        has_pronoun_after_frequency: true,
        phrases: include_str!("tables/es.txt"),
        ..Standing::NONE
    },
    personal: &Personal {
        leads: "y|pero|también|por favor|ten en cuenta que|recuerda que|hola|ok|porque|aquí|por cierto|ojo|además",
        subjects: "yo|nosotros|nosotras",
        states: "soy|somos|tengo|tenemos|sigo|yo soy|yo tengo",
        own_endings: "o mos",
        between: "me|nos|lo|la|los|las|también|aquí|en avión",
        strict: "nunca|jamás",
        loose: "siempre|solo|solamente|únicamente",
        denials: "no",
        firm: "como|bebo|conduzco|fumo|tolero|uso|usamos|utilizo|utilizamos|viajo|vuelo|llevo|compro|trabajo|permitimos|\
                 aceptamos|desplegamos|soporto|hablo|tomo|pago|comemos|bebemos|escribimos|subimos",
        passing: "sé|puedo|quiero|tengo|creo|recuerdo|entiendo|pienso|veo|he|hemos|tenemos|podemos|queremos|sabemos|estoy|\
                 estamos|digo|hago|vamos|necesito|encuentro|espero|era|fui",
        tastes: "prefiero|odio|evito|detesto|rechazo|alérgico|en silla de ruedas",
        conditions: "alérgico|alérgica|alergia|alergias|vegetariano|vegetariana|vegano|vegana|celíaco|celíaca|intolerante|\
                 intolerancia|diabético|diabética|vértigo",
        moment: "hoy|mañana|ayer|ahora|todavía|aún|ya|antes|esta vez|por el momento|era|estaba|había|la semana pasada",
        done: "reservado|pagado|pedido|confirmado|comprado|cancelado|hecho|firmado",
        requests: "podrías|puedes|podría|puede|podrías por favor|puedes por favor|te importaría|sería posible|\
                 estaría bien que|sería genial si pudieras",
        lasting: "siempre|nunca|no|cada|dejar|evitar|a partir de ahora|en adelante|solo|todas",
        ..Personal::NONE
    },
    rules: &RuleWords {
            choices: &[
            (Choice::English, "inglés"),
            (Choice::German, "alemán"),
            (Choice::French, "francés"),
            (Choice::Spanish, "español"),
            (Choice::Russian, "ruso"),
            (Choice::Chinese, "chino"),
            (Choice::Japanese, "japonés"),
            (Choice::Italian, "italiano"),
            (Choice::Portuguese, "portugués"),
            (Choice::Spaces, "espacios"),
            (Choice::Formal, "usted"),
            (Choice::Informal, "tú"),
            (Choice::Short, "corto"),
            (Choice::Long, "largo"),
            (Choice::Monday, "lunes"),
            (Choice::Tuesday, "martes"),
            (Choice::Thursday, "jueves"),
            (Choice::Friday, "viernes"),
        ],
        frame: "ahora usa",
        denials: "nunca jamas evita",
        ..RuleWords::NONE
    },
    pasted: &Pasted {
        headers: "de|para|asunto|fecha|enviado|título",
        formal_greetings: "estimad|muy señor",
        greetings: "hola|buenos días|buenas|querid",
        rules: "regla|preferencia|norma",
        own: "mi mis nuestra nuestras nuestros",
        before_colon: "resum|resúm|traduc|traduz|corrig|aquí est|aquí tien|siguiente|abajo|dice|dijo|escribi|correo|\
                 mensaje|carta|texto|artículo|documento|página|contexto|fuente|salida|resultado|revisa",
        before_text: "resum|resúm|traduc|traduz|siguiente|abajo|aquí est|este correo|este texto",
        ..Pasted::NONE
    },
    time: &Time {
        words: &[
            (TimeWord::Day(-1), "ayer"),
            (TimeWord::Day(-2), "anteayer"),
            (TimeWord::Last, "pasado,pasada"),
            (TimeWord::Next, "proximo,proxima"),
            (TimeWord::Before, "hace"),
        ],
        counts: "un,uno,una dos tres cuatro cinco seis siete ocho nueve diez",
        units: &[
            (TimeUnit::Days, "dia,dias"),
            (TimeUnit::Weeks, "semana,semanas"),
            (TimeUnit::Weekend, "finde"),
            (TimeUnit::Months, "mes,meses"),
            (TimeUnit::Years, "ano,anos"),
            (TimeUnit::Weekday(0), "lunes"),
            (TimeUnit::Weekday(1), "martes"),
            (TimeUnit::Weekday(2), "miercoles"),
            (TimeUnit::Weekday(3), "jueves"),
            (TimeUnit::Weekday(4), "viernes"),
            (TimeUnit::Weekday(5), "sabado"),
            (TimeUnit::Weekday(6), "domingo"),
        ],
        likening: "como",
        months: "ene feb mar abr may jun jul ago sep oct nov dic",
        ..Time::NONE
    },
    quantities: &Quantities {
        units: "anos dias centimos dolares hora horas millones minutos semanas toneladas metros",
        months: "abril agosto diciembre enero febrero julio junio marzo mayo noviembre octubre septiembre setiembre",
        weekdays: "domingo jueves lunes martes miercoles sabado viernes",
        counts: "dos tres cuatro cinco diez",
        of: "de",
        magnitudes: "millones",
        ..Quantities::NONE
    },
    refusal: &Refusal {
        openings: "lo siento|no puedo|como modelo de lenguaje|como ia",
        declined: "ayudar|resumir|resumen|solicitud|proporcionar|modelo",
        nothing: "ninguno|ninguna",
        ..Refusal::NONE
    },
    secrets: "contraseña",
    ..Tables::NONE
};

#[rustfmt::skip]
const CUES: &[(Cue, &str)] = &[
    (C::Never, "nunca|jamás|nunca más"),
    (C::Always, "siempre"),
    (C::Dont, "no uses|no use|no usen|no utilices|no utilice|no emplees|no hagas|no haga|no borres|no borre|no elimines|no elimine|no cambies|no cambie|no modifiques|no modifique|no toques|no toque|no escribas|no escriba|no respondas|no responda|no contestes|no conteste|no envíes|no envíe|no incluyas|no incluya|no añadas|no añada|no pongas|no ponga|no digas|no diga|no instales|no instale|no ejecutes|no ejecute|no compartas|no comparta|no menciones|no mencione|no gastes|no gaste|no pases|no superes|no supere|no repitas|no repita|no inventes|no invente|no llames|no llame|no traduzcas|no traduzca|no asumas|no asuma|no publiques|no publique|no subas|no suba|no guardes|no guarde|no agregues|no agregue|no reserves|no reserve|no compres|no compre|no recomiendes|no recomiende|no sugieras|no sugiera|no me llames|no me hables|no me trates|no reveles|no revele|no muestres|no usar|no tocar|no borrar|no modificar|no cambiar|no eliminar"),
    (C::MustNot, "no debes|no debe|no deben|no se debe|no se puede|no puede haber|bajo ninguna circunstancia|en ningún caso|bajo ningún concepto|está prohibido|queda prohibido|están prohibidos|prohibido|no está permitido|de ninguna manera|no quiero que"),
    (C::Must, "debes|debe|deben|tienes que|tiene que|tienen que|hay que"),
    (C::Should, "debes|debe|deben|tienes que|asegúrate de|recuerda|procura"),
    (C::Wish, "quiero que|necesito que|te pido que|me gustaría que"),
    (C::FromNow, "a partir de ahora|de ahora en adelante|desde ahora|de aquí en adelante|en adelante|a partir de hoy|en el futuro|durante el resto|para el resto|por el resto"),
    (C::Only, "solo|sólo|solamente|únicamente|exclusivamente"),
    (C::Avoid, "evita|evite|evitad|abstente de|deja de|deje de"),
    (C::Imperative, "usa|use|utiliza|utilice|emplea|responde|responda|contesta|conteste|escribe|escriba|habla|hable|háblame|llámame|mantén|mantenga|haz|haga|pon|ponga|incluye|incluya|añade|agrega|muestra|muéstrame|explica|cita|traduce|guarda|pregunta|pregúntame|consulta|ejecuta|formatea|revisa|comprueba|limita|trata|trátame|empieza|termina|redondea|deja|sigue|prefiere|dame|dime|redacta|asegúrate|confirma|valida|recomienda"),
    (C::Answer, "responde|responda|contesta|conteste|respóndeme|contéstame|habla|háblame|escríbeme|respuestas"),
    (C::Tongue, "español|inglés|alemán|francés|italiano|portugués|ruso|chino|japonés|castellano|catalán"),
    (C::Every, "cada vez|siempre que|en cada respuesta|en todas las respuestas|en todas tus respuestas"),
    (C::Ensure, "asegúrate de|asegúrese de|asegúrate"),
    (C::All, "todos|todas|todo|cada|cualquier|ningún|ninguna|siempre|nunca"),
    (C::Budget, "presupuesto"),
    (C::Cap, "como máximo|no más de|máximo|a lo sumo|no superar|no supere|no puede superar|no pasar de|no pase de|no exceder|no exceda|hasta un máximo|tope de|límite de"),
    (C::Under, "menos de|por debajo de|dentro de|al menos|como mínimo"),
    (C::Deadline, "fecha límite|plazo|fecha de entrega|vence|entrega es"),
    (C::By, "antes de|antes del|para el|hasta el|a más tardar|no más tarde"),
    (C::Need, "necesito|necesitamos|debe|tiene que|hay que|listo|lista|entregar|terminar|terminado|acabar|enviar|publicar|entregado|completar"),
    (C::Subject, "yo|él|ella|ellos|ellas|mi|mis|se|nadie|que"),
    (C::We, "nosotros"),
    (C::Spend, "gastar|gastes|gaste|pagar|costar|cueste"),
    (C::You, "tú|usted|ustedes|vosotros"),
    (C::Reported, "dice|dijo|dicen|según|decía|afirma|pone que|escribió|cuenta que"),
    (C::OneShot, "todavía|aún|por ahora|de momento|esta vez|hoy|ahora mismo|por el momento"),
    (C::Story, "he|ha|has|han|había|fui|fue|era|vi|tuve|hubo|supe|pensé|es|está|estaba|me|lo|la|se|tengo|estoy|quise|digo|voy|mejor|falta|hay|te|le|son|soy|tenía|podría"),
    (C::Idle, "te preocupes|se preocupe|pasa nada|hay problema|importa|lo dudes|dudes"),
    (C::Filler, "por favor|y|pero|también|además|entonces|importante|nota|regla|ok|bueno|ah|porque|o|por cierto|vale|recuerda"),
    (C::Past, "era|fue|fueron|había|tenía|estaba|he|ha|hemos|han|hubo|costó"),
    (C::Permission, "puedes|puede|está bien|se permite|ya no hace falta|ya no tienes que|no hace falta"),
    (C::Change, "ahora|ya no|en vez|en lugar|de nuevo|mejor|ya"),
    (C::Decision, "decidimos|hemos decidido|he decidido|decidí|decisión|vamos a usar|vamos con|usaremos|nos quedamos con|me quedo con|acordamos|quedamos en|optamos por|elegimos|elegí|el plan es"),
    (C::Preference, "prefiero|preferimos|preferiría|me gusta|me gustan|me gustaría|no me gusta|no me gustan|me encanta|odio|mi favorito|mi favorita|soy alérgico|soy alérgica|alérgico|alérgica|vegetariano|vegetariana|vegano|vegana|no como|no bebo|quiero"),
    (C::Negation, "nunca|jamás|no se puede|no puede|no está|no es|no hay|sin|excepto|salvo|ya no|no funciona|no uses|ni|en vez de|no debe"),
    (C::Question, "qué|por qué|cómo|cuándo|dónde|quién|cuál|puedes|podrías"),
];
