//! The words by which a sentence says what it is: a demand, a decision, a preference, a denial.
//!
//! Tables of phrases for seven languages, read in one pass: the first word of a phrase is looked up,
//! the rest is compared. Scripts without spaces are matched by characters.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Plain;
use super::language::{Evidence, Language};
use super::script::{fold, unspaced};
use super::terms::{hash, lower_hash};

/// What a phrase signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cue {
    /// "never": forbids at the start of a clause, else it tells a story.
    Never,
    /// "always", likewise.
    Always,
    /// "don't": forbids at the start of a clause.
    Dont,
    /// "must not": forbids anywhere.
    MustNot,
    /// "must".
    Must,
    /// "should", "to": makes a following never or always a demand.
    Should,
    /// "I want you to": as [`Cue::Should`], and the subject may be the user.
    Wish,
    /// "from now on".
    FromNow,
    /// "in this project": makes what "we never" do a rule.
    Scope,
    /// "only".
    Only,
    /// "avoid", "refrain from".
    Avoid,
    /// "stop", before a verb in -ing.
    Stop,
    /// A verb in the imperative that asks for lasting behaviour.
    Imperative,
    /// "answer", "reply": with a language it is a demand.
    Answer,
    /// The name of a language.
    Tongue,
    /// "every time", "whenever".
    Every,
    /// "all", "any", "each" after "make sure".
    All,
    /// "make sure".
    Ensure,
    /// "budget".
    Budget,
    /// "at most", "no more than".
    Cap,
    /// "under", "below": a cap when something must stay so.
    Under,
    /// "deadline".
    Deadline,
    /// "by", "before" a date.
    By,
    /// "need", "finish", "due": makes a date a deadline.
    Need,
    /// I, he, she, it, they, we: somebody else's doing.
    Subject,
    /// we: can make rules, but tells stories too.
    We,
    /// you.
    You,
    /// "spend": makes a cap a budget.
    Spend,
    /// "says", "told me", "according to".
    Reported,
    /// "yet", "for now", "this time".
    OneShot,
    /// After never or always: a story ("never seen").
    Story,
    /// After don't: comfort, not a rule ("don't worry").
    Idle,
    /// "please", "also": does not count as the start of a clause.
    Filler,
    /// was, had: the past.
    Past,
    /// "you may", "it's fine to".
    Permission,
    /// "now", "after all", "no longer", "instead".
    Change,
    /// "we decided", "let's go with".
    Decision,
    /// "I prefer".
    Preference,
    /// "no longer", "cannot", "is not": a fact by denial.
    Negation,
    /// A question word or particle.
    Question,
}

use Cue as C;
use Language as L;

type Table = (Language, Cue, &'static str);

/// Phrases, separated by `|`.
#[rustfmt::skip]
const TABLE: &[Table] = &[
    // English
    (L::English, C::Never, "never|never ever"),
    (L::English, C::Always, "always"),
    (L::English, C::Dont, "do not|don't|dont|do not ever|don't ever"),
    (L::English, C::MustNot, "must not|mustn't|must never|shall not|you may not|should not|shouldn't|should never|is not allowed|are not allowed|isn't allowed|aren't allowed|not permitted|is forbidden|are forbidden|is prohibited|under no circumstances|off limits|off-limits|is not to be|are not to be|no circumstances"),
    (L::English, C::Must, "must|is required to|are required to"),
    (L::English, C::Should, "should|sure to|sure you|sure that you|remember to|supposed to|have to|has to|needs to"),
    (L::English, C::Wish, "want you to|like you to|need you to|ask you to|expect you to|asking you to|want it to|want them to|want replies to|want answers to"),
    (L::English, C::FromNow, "from now on|from here on|from here on out|from this point on|from this point forward|going forward|for the rest of this|for the rest of the|for the remainder of|in all future|in future replies|in future answers|in your future|henceforth|from today on|as of now|starting now|throughout this conversation|throughout the conversation|throughout this project|in this conversation always|as a general rule|as a rule"),
    (L::English, C::Scope, "in this repo|in this repository|in this project|in this codebase|in our project|in our codebase|in our repo|on this team|in this session|in this conversation|in this chat"),
    (L::English, C::Only, "only|exclusively|solely"),
    (L::English, C::Avoid, "avoid|refrain from|stay away from|keep away from|steer clear of|leave alone"),
    (L::English, C::Stop, "stop|quit"),
    (L::English, C::Imperative, "use|keep|format|include|respond|answer|reply|write|speak|talk|call|address|stick|limit|cite|refer|treat|assume|prefer|quote|sign|start|begin|end|leave|follow|name|translate|store|log|round|convert|commit|ask|check|test|run|prefix|wrap|indent|mention|show|explain|return|stay|edit|touch|change|recommend|suggest|pick|book|buy|schedule|remember|give|put|add|make|ensure|spend|deploy|push|validate|set"),
    (L::English, C::Answer, "answer|answers|reply|replies|respond|responses|speak|talk|write to me|write back|write your answers|communicate"),
    (L::English, C::Tongue, "english|german|french|spanish|italian|portuguese|dutch|russian|chinese|japanese|korean|polish|turkish|arabic|hindi|swedish|mandarin|latin|ukrainian|british english|american english"),
    (L::English, C::Every, "in the future|in future|every time|each time|whenever|any time|anytime|in every reply|in every answer|in every response|in each response|in each reply|with every"),
    (L::English, C::All, "all|every|each|any|everything|no|none"),
    (L::English, C::Ensure, "make sure|be sure|ensure|see to it"),
    (L::English, C::Budget, "budget|spending limit|price limit|cost limit|my limit|our limit|price cap|the limit is|spending cap"),
    (L::English, C::Cap, "at most|no more than|not more than|maximum|max|not exceed|can't exceed|cannot exceed|mustn't exceed|not spend more than|not go over|not go above|limit of|cap of|capped at|upper limit|up to|no longer than|no larger than|at the most"),
    (L::English, C::Under, "under|below|within|less than|fewer than|at least|no less than|no fewer than|shorter than|smaller than"),
    (L::English, C::Deadline, "deadline|due date|cut-off date|cutoff date|is due|are due|due on|due by"),
    (L::English, C::By, "by|before|until|no later than|not later than"),
    (L::English, C::Need, "need|needs|must|has to|have to|finish|deliver|due|submit|ship|launch|release|hand in|complete|want"),
    (L::English, C::Subject, "i|he|she|it|they|i'm|i've|he's|she's|it's|they're|who|which|that|this|there|my mom|my boss|people|everyone|nobody|somebody|someone"),
    (L::English, C::We, "we|we're|we've|we'll|our team"),
    (L::English, C::Spend, "spend|spending|pay|paying|cost|costs"),
    (L::English, C::You, "you|you're|you'll"),
    (L::English, C::Reported, "says|said|told|tells|according to|states|stated|claims|claimed|wrote|reads|warns|warned|recommends|recommended|documentation says|docs say|they say|argues|suggests that|thinks|thought|mentions|mentioned|sang|sings|goes the saying|as the saying goes|once|used to"),
    (L::English, C::OneShot, "yet|for now|this time|just this once|for the moment|right now|at the moment|today|tonight|just now|until i|until we"),
    (L::English, C::Story, "seen|been|had|heard|thought|knew|known|tried|mind|again|was|were|wanted|loved|liked|said|did|done|gone|went|felt|met|got|saw|have|has|is|are|will|would|could|can|fails|works|wondered|a|an|the|too|fun|good|nice|great|happy|so|enough|there|seemed|realized|gonna|wanna|here|full|up|ready|glad|available|give up|gave up|let anything|let anyone|let your|stop learning|stop believing|lose hope|lose faith|regret|look back|better|more|less|easy|hard|quite|really"),
    (L::English, C::Idle, "ever quit|ever give up|ever doubt|ever lose|ever stop believing|worry|know|think|mind|forget|hesitate|be afraid|be sorry|get me wrong|bother|panic|feel|care|believe|remember|understand|see|want|have|need|like|you|we|they|get it|get why|get how|work|look|seem|stress|apologize|apologise|let it|let them|be shy|be silly|give up|sweat|even|really|exist|own|recall|trust yourself|be so hard|be scared|be discouraged|be hard on|quit|let anything|let anyone|let this|let that|let the|miss a|miss out|lose hope|lose heart|beat yourself|rush|underestimate|doubt"),
    (L::English, C::Filler, "please|also|and|but|just|then|ok|okay|oh|well|actually|again|note|important|reminder|rule|rules|finally|first|second|or|hey|plus|additionally|furthermore|seriously|kindly|however|still|yes|no|p.s|ps|because|since"),
    (L::English, C::Past, "was|were|had|did|went|took|used|got|been|happened|ended"),
    (L::English, C::Permission, "you can|you may|you're allowed to|you are allowed to|it's fine to|it is fine to|it's ok to|it's okay to|feel free to|no need to|you don't have to|you do not have to|you don't need to|you no longer need to|are allowed|is allowed"),
    (L::English, C::Change, "now|after all|no longer|anymore|any more|instead|again|changed my mind|from now on|forget what i said|scratch that|on second thought"),
    (L::English, C::Decision, "we decided|i decided|decided to|decided on|decided that|decision|let's go with|let's use|let's stick with|let's do|we'll go with|we will go with|i'll go with|we'll use|we will use|we're going with|i'm going with|going with|settled on|settle on|we agreed|agreed to|agreed on|agreed that|we chose|i chose|we picked|i picked|i've chosen|we've chosen|we've decided|i've decided|the plan is|final answer|we opted|opted for|i'll take the|conclusion is|we are using|switched to|we'll switch|we will switch"),
    (L::English, C::Preference, "i prefer|i'd prefer|i would prefer|we prefer|i'd rather|i would rather|i like|i love|i hate|i dislike|i can't stand|i really like|i really love|my favorite|my favourite|favorite|favourite|i enjoy|i'm a fan|i'm not a fan|i don't like|i do not like|i'm allergic|i am allergic|allergic to|i'm vegetarian|i'm vegan|i don't eat|i do not eat|i don't drink|i want|preference|prefers|i usually|i'm used to|i can't eat|i like my|works best for me"),
    (L::English, C::Negation, "never|must not|mustn't|no longer|not allowed|not supported|isn't supported|not possible|isn't possible|cannot|can't|can not|doesn't work|does not work|do not|don't|without|except|not available|isn't available|won't|will not|isn't|is not|aren't|are not|wasn't|was not|doesn't|does not|didn't|did not|avoid|neither|nor|rather than|instead of|not the"),
    (L::English, C::Question, "what|why|how|when|where|who|which|can you|could you|would you|will you|do you|does|did you|should i|should we|is there|are there"),
    // German
    (L::German, C::Never, "nie|niemals|nie wieder|nie mehr"),
    (L::German, C::Always, "immer|stets|jedes mal"),
    (L::German, C::Dont, "nicht|kein|keine|keinen|keinem|keiner|keinerlei"),
    (L::German, C::MustNot, "auf keinen fall|unter keinen umständen|darf nicht|dürfen nicht|darfst nicht|darf nie|dürfen nie|darf kein|darf keine|darf keinen|darfst kein|darfst keine|darfst keinen|dürfen keinerlei|sollst kein|sollst keine|sollst keinen|dürfen keine|dürfen keinen|darf niemals|darfst nie|sollst nicht|sollst nie|sollst niemals|sollen nicht|sollen nie|soll nie|soll nicht|solltest nie|sollten nie|ist verboten|sind verboten|ist tabu|nicht erlaubt|ist untersagt|keinesfalls|möchte nicht dass|will nicht dass"),
    (L::German, C::Must, "muss|müssen|musst"),
    (L::German, C::Should, "soll|sollst|sollen|solltest|sollten|sollte|musst|müssen|muss|darf|dürfen|darfst|achte darauf|denk daran|denke daran"),
    (L::German, C::Wish, "möchte dass|will dass|hätte gern dass|erwarte dass|wünsche mir dass"),
    (L::German, C::FromNow, "ab jetzt|ab sofort|von jetzt an|von nun an|ab nun|in zukunft|künftig|zukünftig|fortan|ab heute|für den rest|im weiteren verlauf|für alle weiteren|grundsätzlich"),
    (L::German, C::Only, "nur|ausschließlich|bloß"),
    (L::German, C::Avoid, "vermeide|vermeiden sie|vermeidet|verzichte|verzichten sie|unterlass|lass die finger|hör auf"),
    (L::German, C::Imperative, "verwende|verwendet|benutze|benutz|nutze|nutz|nimm|schreib|schreibe|antworte|sprich|rede|nenn|nenne|mach|mache|gib|lass|lasse|halt|halte|bleib|bleibe|achte|speicher|speichere|lösch|lösche|änder|ändere|frag|frage|zeig|zeige|füg|füge|setz|setze|stell|stelle|formatiere|übersetze|begründe|erkläre|zitiere|duze|sieze|rechne|runde|prüfe|prüf|teste|starte|beginne|beende|kürze|committe|pushe|fass|fasse|sag|sage|denk|denke|installiere|erwähne|verrate|teile|teil|buche|empfiehl|verwenden sie|benutzen sie|nutzen sie|nehmen sie|schreiben sie|antworten sie|sprechen sie|nennen sie|machen sie|geben sie|lassen sie|halten sie|bleiben sie|achten sie|speichern sie|löschen sie|ändern sie|fragen sie|zeigen sie|fügen sie|setzen sie|erklären sie|prüfen sie|testen sie"),
    (L::German, C::Answer, "antworte|antworten|antwort|antworten sie|sprich|schreib mir|schreibe mir|rede"),
    (L::German, C::Tongue, "deutsch|englisch|französisch|spanisch|italienisch|russisch|chinesisch|japanisch|portugiesisch|niederländisch|polnisch|türkisch"),
    (L::German, C::Every, "jedes mal|immer wenn|bei jeder antwort|in jeder antwort|wann immer"),
    (L::German, C::Ensure, "achte darauf|achten sie darauf|stell sicher|stelle sicher|stellen sie sicher|sorge dafür|sorg dafür"),
    (L::German, C::All, "alle|allen|jede|jeder|jedes|jeden|immer|nie|kein|keine|keinen"),
    (L::German, C::Budget, "budget|kostenrahmen|preisgrenze"),
    (L::German, C::Cap, "höchstens|maximal|nicht mehr als|nicht teurer als|nicht länger als|nicht über|bis zu|maximum|obergrenze"),
    (L::German, C::Under, "unter|weniger als|mindestens|innerhalb von"),
    (L::German, C::Deadline, "deadline|frist|abgabetermin|abgabefrist|stichtag|fällig|abgabe ist"),
    (L::German, C::By, "bis|bis zum|bis spätestens|spätestens|spätestens am|vor dem"),
    (L::German, C::Need, "muss|müssen|brauche|brauchen|fertig|abgeben|abgegeben|liefern|geliefert|einreichen|eingereicht|fertigstellen|online|erledigt|live"),
    (L::German, C::Subject, "ich|er|es|man|das|der|die|mein|meine|sie|ihr|niemand|jeder"),
    (L::German, C::We, "wir"),
    (L::German, C::Spend, "ausgeben|kosten|zahlen|bezahlen"),
    (L::German, C::You, "du|sie|ihr"),
    (L::German, C::Reported, "sagt|sagte|sagen|laut|meinte|behauptet|heißt es|steht|gesagt|schreibt|schrieb|meint"),
    (L::German, C::OneShot, "noch nicht|jetzt nicht|diesmal|dieses mal|vorerst|heute nicht|erst mal|erstmal|im moment|gerade"),
    (L::German, C::Story, "gesehen|gehört|gedacht|gewesen|noch|wieder mal|so"),
    (L::German, C::Idle, "sorge|sorgen|ahnung|angst|problem|panik|vergiss|keine ursache|stress|mehr als|nur|schlimm|zeit|lust|idee|wunder|zweifel"),
    (L::German, C::Filler, "bitte|und|aber|also|auch|dann|außerdem|wichtig|hinweis|regel|ok|okay|nochmal|übrigens|denn|weil|ach|ja|nein|oder|zudem"),
    (L::German, C::Past, "war|waren|hatte|hatten|wurde|wurden|habe|hat|haben|hast|bin|gewesen|ging"),
    (L::German, C::Permission, "du darfst|sie dürfen|du kannst|sie können|es ist ok|ist erlaubt|ist in ordnung|musst nicht mehr|brauchst nicht mehr|muss nicht mehr"),
    (L::German, C::Change, "jetzt|doch|nicht mehr|stattdessen|wieder|ab jetzt|nun|meinung geändert"),
    (L::German, C::Decision, "wir haben uns entschieden|haben entschieden|habe mich entschieden|entschieden|entscheidung|wir nehmen|ich nehme|wir verwenden|wir nutzen|lass uns|einigen uns|geeinigt|beschlossen|festgelegt|wir machen|wir bleiben bei|der plan ist|fiel auf"),
    (L::German, C::Preference, "ich mag|ich bevorzuge|bevorzuge|lieber|am liebsten|ich hätte gern|ich hätte gerne|ich möchte|mir gefällt|ich hasse|lieblings|ich esse kein|ich esse keine|ich trinke kein|ich trinke keinen|vegetarier|vegetarierin|vegan|allergisch|ich will|mir ist wichtig"),
    (L::German, C::Negation, "nie|niemals|nicht|kein|keine|keinen|ohne|außer|nicht mehr|weder|statt"),
    (L::German, C::Question, "was|warum|wie|wann|wo|wer|welche|welcher|welches|kannst du|können sie|könntest du|soll ich|sollen wir|gibt es"),
    // Spanish
    (L::Spanish, C::Never, "nunca|jamás|nunca más"),
    (L::Spanish, C::Always, "siempre"),
    (L::Spanish, C::Dont, "no uses|no use|no usen|no utilices|no utilice|no emplees|no hagas|no haga|no borres|no borre|no elimines|no elimine|no cambies|no cambie|no modifiques|no modifique|no toques|no toque|no escribas|no escriba|no respondas|no responda|no contestes|no conteste|no envíes|no envíe|no incluyas|no incluya|no añadas|no añada|no pongas|no ponga|no digas|no diga|no instales|no instale|no ejecutes|no ejecute|no compartas|no comparta|no menciones|no mencione|no gastes|no gaste|no pases|no superes|no supere|no repitas|no repita|no inventes|no invente|no llames|no llame|no traduzcas|no traduzca|no asumas|no asuma|no publiques|no publique|no subas|no suba|no guardes|no guarde|no agregues|no agregue|no reserves|no reserve|no compres|no compre|no recomiendes|no recomiende|no sugieras|no sugiera|no me llames|no me hables|no me trates|no reveles|no revele|no muestres|no usar|no tocar|no borrar|no modificar|no cambiar|no eliminar"),
    (L::Spanish, C::MustNot, "no debes|no debe|no deben|no se debe|no se puede|no puede haber|bajo ninguna circunstancia|en ningún caso|bajo ningún concepto|está prohibido|queda prohibido|están prohibidos|prohibido|no está permitido|de ninguna manera|no quiero que"),
    (L::Spanish, C::Must, "debes|debe|deben|tienes que|tiene que|tienen que|hay que"),
    (L::Spanish, C::Should, "debes|debe|deben|tienes que|asegúrate de|recuerda|procura"),
    (L::Spanish, C::Wish, "quiero que|necesito que|te pido que|me gustaría que"),
    (L::Spanish, C::FromNow, "a partir de ahora|de ahora en adelante|desde ahora|de aquí en adelante|en adelante|a partir de hoy|en el futuro|durante el resto|para el resto|por el resto"),
    (L::Spanish, C::Only, "solo|sólo|solamente|únicamente|exclusivamente"),
    (L::Spanish, C::Avoid, "evita|evite|evitad|abstente de|deja de|deje de"),
    (L::Spanish, C::Imperative, "usa|use|utiliza|utilice|emplea|responde|responda|contesta|conteste|escribe|escriba|habla|hable|háblame|llámame|mantén|mantenga|haz|haga|pon|ponga|incluye|incluya|añade|agrega|muestra|muéstrame|explica|cita|traduce|guarda|pregunta|pregúntame|consulta|ejecuta|formatea|revisa|comprueba|limita|trata|trátame|empieza|termina|redondea|deja|sigue|prefiere|dame|dime|redacta|asegúrate|confirma|valida|recomienda"),
    (L::Spanish, C::Answer, "responde|responda|contesta|conteste|respóndeme|contéstame|habla|háblame|escríbeme|respuestas"),
    (L::Spanish, C::Tongue, "español|inglés|alemán|francés|italiano|portugués|ruso|chino|japonés|castellano|catalán"),
    (L::Spanish, C::Every, "cada vez|siempre que|en cada respuesta|en todas las respuestas|en todas tus respuestas"),
    (L::Spanish, C::Ensure, "asegúrate de|asegúrese de|asegúrate"),
    (L::Spanish, C::All, "todos|todas|todo|cada|cualquier|ningún|ninguna|siempre|nunca"),
    (L::Spanish, C::Budget, "presupuesto"),
    (L::Spanish, C::Cap, "como máximo|no más de|máximo|a lo sumo|no superar|no supere|no puede superar|no pasar de|no pase de|no exceder|no exceda|hasta un máximo|tope de|límite de"),
    (L::Spanish, C::Under, "menos de|por debajo de|dentro de|al menos|como mínimo"),
    (L::Spanish, C::Deadline, "fecha límite|plazo|fecha de entrega|vence|entrega es"),
    (L::Spanish, C::By, "antes de|antes del|para el|hasta el|a más tardar|no más tarde"),
    (L::Spanish, C::Need, "necesito|necesitamos|debe|tiene que|hay que|listo|lista|entregar|terminar|terminado|acabar|enviar|publicar|entregado|completar"),
    (L::Spanish, C::Subject, "yo|él|ella|ellos|ellas|mi|mis|se|nadie|que"),
    (L::Spanish, C::We, "nosotros"),
    (L::Spanish, C::Spend, "gastar|gastes|gaste|pagar|costar|cueste"),
    (L::Spanish, C::You, "tú|usted|ustedes|vosotros"),
    (L::Spanish, C::Reported, "dice|dijo|dicen|según|decía|afirma|pone que|escribió|cuenta que"),
    (L::Spanish, C::OneShot, "todavía|aún|por ahora|de momento|esta vez|hoy|ahora mismo|por el momento"),
    (L::Spanish, C::Story, "he|ha|has|han|había|fui|fue|era|vi|tuve|hubo|supe|pensé|es|está|estaba|me|lo|la|se|tengo|estoy|quise|digo|voy|mejor|falta|hay|te|le|son|soy|tenía|podría"),
    (L::Spanish, C::Idle, "te preocupes|se preocupe|pasa nada|hay problema|importa|lo dudes|dudes"),
    (L::Spanish, C::Filler, "por favor|y|pero|también|además|entonces|importante|nota|regla|ok|bueno|ah|porque|o|por cierto|vale|recuerda"),
    (L::Spanish, C::Past, "era|fue|fueron|había|tenía|estaba|he|ha|hemos|han|hubo|costó"),
    (L::Spanish, C::Permission, "puedes|puede|está bien|se permite|ya no hace falta|ya no tienes que|no hace falta"),
    (L::Spanish, C::Change, "ahora|ya no|en vez|en lugar|de nuevo|mejor|ya"),
    (L::Spanish, C::Decision, "decidimos|hemos decidido|he decidido|decidí|decisión|vamos a usar|vamos con|usaremos|nos quedamos con|me quedo con|acordamos|quedamos en|optamos por|elegimos|elegí|el plan es"),
    (L::Spanish, C::Preference, "prefiero|preferimos|preferiría|me gusta|me gustan|me gustaría|no me gusta|no me gustan|me encanta|odio|mi favorito|mi favorita|soy alérgico|soy alérgica|alérgico|alérgica|vegetariano|vegetariana|vegano|vegana|no como|no bebo|quiero"),
    (L::Spanish, C::Negation, "nunca|jamás|no se puede|no puede|no está|no es|no hay|sin|excepto|salvo|ya no|no funciona|no uses|ni|en vez de|no debe"),
    (L::Spanish, C::Question, "qué|por qué|cómo|cuándo|dónde|quién|cuál|puedes|podrías"),
    // French
    (L::French, C::Never, "jamais|plus jamais"),
    (L::French, C::Always, "toujours|systématiquement"),
    (L::French, C::Dont, "ne|n'"),
    (L::French, C::MustNot, "il ne faut pas|il ne faut jamais|ne dois pas|ne dois jamais|ne doit pas|ne doit jamais|ne doivent pas|ne doivent jamais|ne devez pas|ne devez jamais|en aucun cas|sous aucun prétexte|est interdit|interdit de|interdiction de|sont interdits|n'est pas permis|n'est pas autorisé|je ne veux pas que|hors de question"),
    (L::French, C::Must, "dois|doit|doivent|devez|il faut"),
    (L::French, C::Should, "dois|doit|doivent|devez|il faut|assure-toi de|assurez-vous de|pense à|pensez à"),
    (L::French, C::Wish, "veux que|voudrais que|aimerais que|te demande de|vous demande de|souhaite que"),
    (L::French, C::FromNow, "à partir de maintenant|dorénavant|désormais|à l'avenir|dès maintenant|à partir d'aujourd'hui|pour le reste de|pour la suite|à compter de maintenant"),
    (L::French, C::Only, "uniquement|seulement|exclusivement|que"),
    (L::French, C::Avoid, "évite|évitez|abstiens-toi|arrête de|arrêtez de|cesse de"),
    (L::French, C::Imperative, "utilise|utilisez|emploie|employez|réponds|répondez|écris|écrivez|parle|parlez|parle-moi|appelle|appelle-moi|appelez-moi|garde|gardez|fais|faites|mets|mettez|inclus|incluez|ajoute|ajoutez|montre|montrez|explique|expliquez|cite|citez|traduis|traduisez|demande|demandez|vérifie|vérifiez|formate|limite|limitez|tutoie-moi|vouvoie-moi|vouvoyez|commence|termine|arrondis|reste|restez|donne|donnez|assure-toi|assurez-vous|laisse|laissez|rédige|rédigez|respecte|respectez|sauvegarde|confirme"),
    (L::French, C::Answer, "réponds|répondez|parle|parlez|parle-moi|réponds-moi|écris-moi|réponses|répondre"),
    (L::French, C::Tongue, "français|anglais|allemand|espagnol|italien|portugais|russe|chinois|japonais"),
    (L::French, C::Every, "chaque fois|à chaque fois|à chaque réponse|dans chaque réponse|dans toutes tes réponses"),
    (L::French, C::Ensure, "assure-toi|assurez-vous|veille à|veillez à"),
    (L::French, C::All, "tous|toutes|tout|chaque|aucun|aucune|toujours|jamais"),
    (L::French, C::Budget, "budget"),
    (L::French, C::Cap, "au maximum|maximum|pas plus de|au plus|ne pas dépasser|ne dépasse pas|ne doit pas dépasser|plafond de|limite de|max"),
    (L::French, C::Under, "moins de|en dessous de|sous les|au moins|au minimum"),
    (L::French, C::Deadline, "date limite|échéance|délai|date butoir|deadline"),
    (L::French, C::By, "avant|avant le|d'ici|d'ici le|d'ici au|pour le|jusqu'au|au plus tard"),
    (L::French, C::Need, "besoin|doit|dois|faut|prêt|prête|livrer|livré|terminer|terminé|fini|finir|rendre|rendu|envoyer|publier|en ligne"),
    (L::French, C::Subject, "je|j'|il|elle|ils|elles|ça|cela|ce|c'|qui|personne|mon|ma"),
    (L::French, C::We, "nous|on"),
    (L::French, C::Spend, "dépenser|dépense|payer|coûter|coûte"),
    (L::French, C::You, "tu|vous"),
    (L::French, C::Reported, "dit|disait|disent|selon|d'après|affirme|écrit|raconte|précise"),
    (L::French, C::OneShot, "pas encore|pour l'instant|pour le moment|cette fois|aujourd'hui|tout de suite"),
    (L::French, C::Story, "été|vu|eu|entendu|pensé|est|était|ai|suis|a|aussi"),
    (L::French, C::Idle, "t'inquiète|t'inquiète pas|vous inquiétez|hésite|hésitez|importe|t'en fais|quittez|t'en|oublie|oubliez"),
    (L::French, C::Filler, "s'il te plaît|s'il vous plaît|et|mais|aussi|alors|donc|important|note|règle|ok|bon|ah|de plus|car|ou|en plus|enfin|merci de"),
    (L::French, C::Past, "était|étaient|avait|avaient|fut|été|a coûté|ai dépensé|avons dépensé|ai payé|avons payé|ai fini"),
    (L::French, C::Permission, "tu peux|vous pouvez|il est permis|c'est permis|plus besoin de|tu n'as plus besoin"),
    (L::French, C::Change, "maintenant|finalement|plutôt|désormais|ne plus|à la place|de nouveau"),
    (L::French, C::Decision, "on a décidé|nous avons décidé|j'ai décidé|avons décidé|décision|on part sur|partons sur|on prend|nous prenons|on va utiliser|nous utiliserons|on garde|convenu|on choisit|j'ai choisi|nous avons choisi|retenu|le plan est"),
    (L::French, C::Preference, "je préfère|nous préférons|j'aime|je n'aime pas|j'adore|je déteste|mon préféré|ma préférée|préférée|préféré|je voudrais|j'aimerais|je suis allergique|allergique|végétarien|végétarienne|végane|je ne mange pas|je ne bois pas|je veux"),
    (L::French, C::Negation, "jamais|ne pas|n'est pas|ne peut pas|sans|sauf|aucun|aucune|plus possible|ni|au lieu de|ne fonctionne pas|pas"),
    (L::French, C::Question, "pourquoi|comment|quand|où|qui|quel|quelle|est-ce que|peux-tu|pouvez-vous|pourrais-tu"),
    // Russian
    (L::Russian, C::Never, "никогда|никогда больше|больше никогда"),
    (L::Russian, C::Always, "всегда|постоянно"),
    (L::Russian, C::Dont, "не"),
    (L::Russian, C::MustNot, "нельзя|запрещено|запрещается|запрещаю|ни в коем случае|ни при каких обстоятельствах|не должен|не должна|не должно|не должны|недопустимо|не допускается|не разрешается|не надо|не нужно"),
    (L::Russian, C::Must, "должен|должна|должно|должны|обязательно|обязан|необходимо"),
    (L::Russian, C::Should, "должен|должна|должно|должны|нужно|надо|необходимо|следует"),
    (L::Russian, C::Wish, "хочу чтобы|прошу тебя|прошу вас|прошу"),
    (L::Russian, C::FromNow, "с этого момента|отныне|впредь|в дальнейшем|начиная с этого момента|с сегодняшнего дня|теперь всегда|с этой минуты|до конца разговора|до конца беседы|в будущем"),
    (L::Russian, C::Only, "только|исключительно|лишь"),
    (L::Russian, C::Avoid, "избегай|избегайте|воздержись|воздерживайся|перестань|прекрати|хватит"),
    (L::Russian, C::Imperative, "используй|используйте|пиши|пишите|отвечай|отвечайте|говори|говорите|называй|называйте|обращайся|обращайтесь|делай|делайте|добавляй|добавляйте|проверяй|проверяйте|запускай|сохраняй|сохраняйте|спрашивай|спрашивайте|показывай|показывайте|объясняй|переводи|переводите|указывай|указывайте|оставляй|держи|держись|придерживайся|придерживайтесь|форматируй|начинай|заканчивай|округляй|цитируй|сокращай|учитывай|учитывайте|помни|соблюдай|давай|бери|выбирай|ставь|предупреждай|ограничивайся|трать|тратьте|напоминай|спроси|предлагай"),
    (L::Russian, C::Answer, "отвечай|отвечайте|говори|говорите|пиши мне|ответь|ответы"),
    (L::Russian, C::Tongue, "русском|по-русски|английском|по-английски|немецком|по-немецки|французском|по-французски|испанском|по-испански|китайском|японском|русский|английский"),
    (L::Russian, C::Every, "каждый раз|всякий раз|в каждом ответе|при каждом"),
    (L::Russian, C::Ensure, "убедись|убедитесь|следи|следите|позаботься"),
    (L::Russian, C::All, "все|всех|каждый|каждая|каждое|любой|никаких|никакого|всегда|никогда"),
    (L::Russian, C::Budget, "бюджет|бюджета"),
    (L::Russian, C::Cap, "не более|не больше|максимум|не дороже|не длиннее|не превышать|не должен превышать|не выше|лимит|до"),
    (L::Russian, C::Under, "меньше|менее|в пределах|не менее|минимум"),
    (L::Russian, C::Deadline, "дедлайн|крайний срок|срок сдачи|срок|сдать до|сдача"),
    (L::Russian, C::By, "до|к|не позднее|не позже"),
    (L::Russian, C::Need, "нужно|надо|должен|должна|должно|должны|сдать|закончить|завершить|готово|готов|готова|отправить|выпустить|запустить|успеть"),
    (L::Russian, C::Subject, "я|он|она|оно|они|мой|моя|кто|это|никто|который|мне|ему"),
    (L::Russian, C::We, "мы"),
    (L::Russian, C::Spend, "потратить|тратить|тратим|стоить|платить"),
    (L::Russian, C::You, "ты|вы"),
    (L::Russian, C::Reported, "говорит|сказал|сказала|говорят|согласно|пишет|написано|утверждает|говорил|говорила"),
    (L::Russian, C::OneShot, "пока|сейчас|сегодня|в этот раз|ещё|еще"),
    (L::Russian, C::Story, "видел|видела|был|была|было|были|слышал|думал|знал|хотел|хотела|бывал|любил|любила|так|есть"),
    (L::Russian, C::Idle, "волнуйся|волнуйтесь|переживай|переживайте|беспокойся|беспокойтесь|знаю|думаю|понимаю|помню|бойся|бойтесь|стесняйся|стесняйтесь|забудь|забудьте|могу|хочу|уверен|уверена|проблема|за|обращай внимания|парься|сомневайся"),
    (L::Russian, C::Filler, "пожалуйста|и|но|также|ещё|еще|а|то|тогда|важно|правило|ок|ладно|ну|потому что|или|кстати|просто"),
    (L::Russian, C::Past, "был|была|было|были|стоил|стоило|потратил|потратили"),
    (L::Russian, C::Permission, "можешь|можете|можно|разрешаю|разрешено|больше не нужно|больше не надо|необязательно"),
    (L::Russian, C::Change, "теперь|больше не|вместо|снова|опять|передумал|передумала|всё-таки|все-таки|уже"),
    (L::Russian, C::Decision, "решили|решил|решила|решено|решение|договорились|остановились на|выбрали|выбрал|выбрала|берём|берем|будем использовать|используем|остановимся на|план такой|возьмём|возьмем"),
    (L::Russian, C::Preference, "предпочитаю|предпочитаем|я люблю|люблю|не люблю|мне нравится|мне нравятся|не нравится|ненавижу|любимый|любимая|любимое|аллергия|вегетарианец|вегетарианка|веган|не ем|не пью|хочу|хотел бы|хотела бы|мне удобнее"),
    (L::Russian, C::Negation, "никогда|нельзя|не|нет|без|кроме|больше не|невозможно|ни|вместо"),
    (L::Russian, C::Question, "что|почему|как|когда|где|кто|какой|какая|можешь ли|ли|зачем"),
    // Chinese
    (L::Chinese, C::MustNot, "永远不要|永远别|绝不要|绝不能|绝对不要|绝对不能|千万不要|千万别|切勿|请勿|严禁|禁止|不得|不许|不准|不允许|不可以|不应该|绝不|从此不要|不要再|别再"),
    (L::Chinese, C::Dont, "不要|别|不能|请不要|勿"),
    (L::Chinese, C::Must, "必须|务必|一定要|一律|必需"),
    (L::Chinese, C::Always, "始终|总是|永远|每次都|一直"),
    (L::Chinese, C::FromNow, "从现在开始|从现在起|从今以后|从今往后|从今天起|从今天开始|今后|以后|接下来的对话|在整个对话中|往后|此后"),
    (L::Chinese, C::Only, "只用|只能|只使用|只许|仅用|仅使用|仅限|只可以|只准"),
    (L::Chinese, C::Avoid, "避免|尽量不要"),
    (L::Chinese, C::Imperative, "请|用|使用|回答|回复|保持|叫我|称呼|写|加上|检查|记住|给出|说明"),
    (L::Chinese, C::Answer, "回答|回复|答复|跟我说|说"),
    (L::Chinese, C::Tongue, "中文|英文|英语|德语|法语|日语|日文|俄语|西班牙语|普通话|简体|繁体|汉语"),
    (L::Chinese, C::Every, "每次|每当|每一次|每个回答"),
    (L::Chinese, C::Budget, "预算|花费"),
    (L::Chinese, C::Cap, "不超过|不能超过|不要超过|不得超过|最多|不多于|上限|以内|以下|控制在|不高于"),
    (L::Chinese, C::Under, "少于|低于|小于|至少|不少于"),
    (L::Chinese, C::Deadline, "截止|期限|最后期限|交付日期|交稿|最晚|到期"),
    (L::Chinese, C::By, "之前|以前|前"),
    (L::Chinese, C::Need, "要|必须|需要|完成|交付|提交|上线|做好|交给|搞定|发布"),
    (L::Chinese, C::Subject, "我|他|她|它|我们|他们|她们|人家|大家"),
    (L::Chinese, C::You, "你|您|你们"),
    (L::Chinese, C::Reported, "说过|他说|她说|告诉我|写着|提到|据说|报错|听说|文档说|文档里|里说|书上"),
    (L::Chinese, C::OneShot, "先不要|先别|暂时|还不要|现在不要|这次|今天|现在别|还没|目前"),
    (L::Chinese, C::Idle, "不要紧|不要脸|别人|别的|别处|别名|别墅|别担心|别客气|别急|别怕|别说了|别忘|别介意|不要担心|不要客气|不要着急|不要急|不要怕|不得不|不得了|不得而知|别难过|别生气|别提|别致|不要忘|不能不|必须尝|必须看看|必须试试|一定要尝|一定要来|一定要看|一定要试|别看|别样|别扭|别管|总是会"),
    (L::Chinese, C::Filler, "请|也|都|就|并且|并|而且|但是|但|另外|还有|你|您|绝对|千万|麻烦|要|所以|和|还|再|同时"),
    (L::Chinese, C::Permission, "可以|允许|不用再|不必再|没关系|不需要再"),
    (L::Chinese, C::Change, "现在|改成|改为|不再|重新|还是|换成|了"),
    (L::Chinese, C::Decision, "决定|我们用|我们就用|采用|选择了|选定|就选|敲定|确定用|说好|约定|定下来|改用|方案是|最终"),
    (L::Chinese, C::Preference, "我喜欢|我更喜欢|我偏好|偏好|我不喜欢|我讨厌|我最喜欢|最喜欢|我想要|我爱|过敏|吃素|素食|我不吃|我不喝|习惯用|我希望|我宁愿"),
    (L::Chinese, C::Negation, "不能|不要|不是|没有|不支持|不可以|无法|不再|不用|禁止|除了|别|不会|不行|从不|从来不|未"),
    (L::Chinese, C::Question, "吗|什么|为什么|怎么|哪|谁|要不要|能不能|是不是|多少|呢|可不可以|会不会"),
    // Japanese
    (L::Japanese, C::MustNot, "ないでください|ないで下さい|ないでほしい|てはいけません|てはいけない|てはならない|てはなりません|てはだめ|ないこと|禁止|使わないで|しないで|書かないで|変えないで|消さないで|触らないで|言わないで|入れないで|送らないで|呼ばないで|ないようにして|ちゃだめ|ないように"),
    (L::Japanese, C::Must, "必ず|なければならない|なければなりません|ないといけない|しなければ|必須"),
    (L::Japanese, C::Always, "常に|いつも|絶対に|どんな場合も"),
    (L::Japanese, C::FromNow, "今後は|今後、|今後も|今後一切|これからは|これ以降|以後|以降は|この会話では|この先|今から"),
    (L::Japanese, C::Only, "だけを使|のみ使|だけ使|のみを使|だけで答|のみで答|だけにして|のみにして|限定して"),
    (L::Japanese, C::Avoid, "避けて|控えて|やめて"),
    (L::Japanese, C::Imperative, "てください|て下さい|でください|お願いします|してほしい|してね|すること|必須|ように|使って|答えて|書いて|返信して|呼んで|にして|してくれ|頼む"),
    (L::Japanese, C::Answer, "で答え|で返信|で返答|で回答|で話し|で書い|で説明"),
    (L::Japanese, C::Tongue, "日本語|英語|ドイツ語|フランス語|スペイン語|中国語|ロシア語|敬語|標準語|丁寧語"),
    (L::Japanese, C::Every, "毎回|そのたびに|たびに|すべての回答|全ての回答"),
    (L::Japanese, C::Budget, "予算|費用"),
    (L::Japanese, C::Cap, "以内|以下|まで|超えない|最大|上限|未満"),
    (L::Japanese, C::Under, "以上|少なくとも|最低"),
    (L::Japanese, C::Deadline, "締め切り|締切|期限|納期|〆切|提出日"),
    (L::Japanese, C::By, "までに"),
    (L::Japanese, C::Need, "必要|ください|お願い|完成|納品|提出|終わら|仕上げ|公開|なければ"),
    (L::Japanese, C::Subject, "私は|僕は|俺は|彼は|彼女は|彼らは|私たちは|母は|父は|友達は|先生は"),
    (L::Japanese, C::You, "あなた"),
    (L::Japanese, C::Reported, "と言っ|と書い|によると|と言われ|そうです|らしい|エラー|と聞い"),
    (L::Japanese, C::OneShot, "まだ|今回は|今日は|とりあえず|今は"),
    (L::Japanese, C::Idle, "心配しないで|気にしないで|遠慮しないで|忘れないで|心配いら|無理しないで|怒らないで"),
    (L::Japanese, C::Past, "ました|でした|だった|なかった|していた|った。"),
    (L::Japanese, C::Permission, "てもいい|てもよい|ても構いません|ても大丈夫|なくていい|なくてもいい|必要はありません"),
    (L::Japanese, C::Change, "もう|やっぱり|やはり|代わりに|今度は|に変更|に変えて"),
    (L::Japanese, C::Decision, "決めました|決定|に決め|にしましょう|にします|を採用|を選びました|を選んだ|で行きましょう|でいきましょう|ことにした|ことにしました|方針|使うことに"),
    (L::Japanese, C::Preference, "が好き|好きな|の方がいい|のほうがいい|が嫌い|嫌いな|苦手|アレルギー|菜食|ベジタリアン|好み|食べません|食べられ|飲みません|たいです"),
    (L::Japanese, C::Negation, "ない|ません|なく|ずに|禁止|以外|できない|できません|ではない|なし"),
    (L::Japanese, C::Question, "か？|ですか|ますか|でしょうか|何|なぜ|どうして|どうやって|どうすれ|いつです|いつから|いつまで|どこ|誰"),
];

struct Entry {
    rest: Vec<u64>,
    cue: Cue,
    language: Language,
}

struct WideEntry {
    phrase: &'static str,
    cue: Cue,
    language: Language,
}

struct Cues {
    words: HashMap<u64, Vec<Entry>, Plain>,
    wide: HashMap<char, Vec<WideEntry>>,
}

static CUES: LazyLock<Cues> = LazyLock::new(|| {
    let mut words: HashMap<u64, Vec<Entry>, Plain> = HashMap::default();
    let mut wide: HashMap<char, Vec<WideEntry>> = HashMap::new();
    let mut read = Vec::new();
    for &(language, cue, phrases) in TABLE {
        for phrase in phrases.split('|') {
            let Some(first) = phrase.chars().next() else {
                continue;
            };
            if unspaced(first) {
                wide.entry(first).or_default().push(WideEntry {
                    phrase,
                    cue,
                    language,
                });
                continue;
            }
            read.clear();
            words_of(phrase, 0, phrase.len(), &mut read);
            let Some(head) = read.first() else { continue };
            words.entry(head.hash).or_default().push(Entry {
                rest: read[1..].iter().map(|w: &Word| w.hash).collect(),
                cue,
                language,
            });
        }
    }
    Cues { words, wide }
});

/// A word of a sentence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    /// First byte.
    pub start: usize,
    /// After the last byte.
    pub end: usize,
    /// Hash of the folded form, not stemmed.
    pub hash: u64,
    /// Whether a clause begins here (punctuation, a conjunction or the beginning stands before it).
    pub clause: bool,
}

/// A phrase that was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    /// What it signals.
    pub cue: Cue,
    /// In which language.
    pub language: Language,
    /// Index of its first word (in scripts without spaces: of the word before it).
    pub word: usize,
    /// After its last word.
    pub after: usize,
    /// First byte.
    pub start: usize,
    /// After the last byte.
    pub end: usize,
    /// Whether a clause begins with it.
    pub clause: bool,
}

/// A sentence as the rules see it.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Its words of alphabetic scripts.
    pub words: Vec<Word>,
    /// What was found, in order.
    pub hits: Vec<Hit>,
    /// Whether it ends with a question mark.
    pub question: bool,
    quoted: Vec<(usize, usize)>,
}

impl Reading {
    /// Reads `text[start..end]`; what stands in quotes gives no hit.
    pub(crate) fn read(&mut self, text: &str, start: usize, end: usize) {
        self.words.clear();
        self.hits.clear();
        let body = text[start..end]
            .trim_end_matches(|c: char| c.is_whitespace() || super::script::closer(c));
        self.question = body.ends_with(['?', '？', '؟']);
        quotes(text, start, end, &mut self.quoted);
        words_of(text, start, end, &mut self.words);
        let cues = &*CUES;
        let mut quote = 0;
        for i in 0..self.words.len() {
            let word = self.words[i];
            while quote < self.quoted.len() && self.quoted[quote].1 <= word.start {
                quote += 1;
            }
            if quote < self.quoted.len() && self.quoted[quote].0 <= word.start {
                continue;
            }
            let Some(entries) = cues.words.get(&word.hash) else {
                continue;
            };
            for entry in entries {
                let after = i + 1 + entry.rest.len();
                let fits = after <= self.words.len()
                    && self.words[i + 1..after]
                        .iter()
                        .zip(&entry.rest)
                        .all(|(w, h)| w.hash == *h);
                if fits {
                    self.hits.push(Hit {
                        cue: entry.cue,
                        language: entry.language,
                        word: i,
                        after,
                        start: word.start,
                        end: self.words[after - 1].end,
                        clause: word.clause,
                    });
                }
            }
        }
        self.fillers();
        if text[start..end].chars().any(unspaced) {
            self.wide(text, start, end);
        }
    }

    /// A clause begins after "please" as much as with it.
    fn fillers(&mut self) {
        for i in 0..self.hits.len() {
            let hit = self.hits[i];
            if hit.cue != Cue::Filler && hit.cue != Cue::FromNow
                || !(self.words[hit.word].clause || hit.cue == Cue::FromNow)
            {
                continue;
            }
            if let Some(next) = self.words.get_mut(hit.after) {
                next.clause = true;
            }
            for later in &mut self.hits[i..] {
                if later.word == hit.after {
                    later.clause = true;
                }
            }
        }
    }

    fn wide(&mut self, text: &str, start: usize, end: usize) {
        let cues = &*CUES;
        let mut clause_until = start;
        let mut quote = 0;
        for (i, c) in text[start..end].char_indices() {
            let at = start + i;
            if !unspaced(c) {
                if !c.is_alphanumeric() {
                    // Punctuation and spaces begin a clause.
                    if clause_until <= at {
                        clause_until = at + c.len_utf8();
                    }
                }
                continue;
            }
            while quote < self.quoted.len() && self.quoted[quote].1 <= at {
                quote += 1;
            }
            if quote < self.quoted.len() && self.quoted[quote].0 <= at {
                continue;
            }
            let Some(entries) = cues.wide.get(&c) else {
                continue;
            };
            let clause = clause_until == at;
            for entry in entries {
                if !text[at..end].starts_with(entry.phrase) {
                    continue;
                }
                let to = at + entry.phrase.len();
                if clause && matches!(entry.cue, Cue::Filler | Cue::FromNow | Cue::You) {
                    clause_until = clause_until.max(to);
                }
                self.hits.push(Hit {
                    cue: entry.cue,
                    language: entry.language,
                    word: 0,
                    after: 0,
                    start: at,
                    end: to,
                    clause,
                });
            }
        }
    }

    /// The language its small words speak for: Latin scripts only, and only if more than one word says so.
    pub(crate) fn language(&self) -> Option<Language> {
        Evidence::of_words(self.words.iter().map(|w| w.hash)).sure()
    }

    /// Whether `cue` was found in `language`.
    pub(crate) fn has(&self, language: Language, cue: Cue) -> bool {
        self.hits
            .iter()
            .any(|h| h.cue == cue && h.language == language)
    }
}

/// The words of alphabetic scripts in `text[start..end]`.
pub(crate) fn words_of(text: &str, start: usize, end: usize, out: &mut Vec<Word>) {
    let mut folded = String::with_capacity(24);
    let mut from = None;
    let mut clause = true;
    let bytes = text.as_bytes();
    let mut at = start;
    while at < end {
        if from.is_none() && bytes[at].is_ascii_alphanumeric() {
            let mut stop = at + 1;
            while stop < end && bytes[stop].is_ascii_alphanumeric() {
                stop += 1;
            }
            if stop == end || bytes[stop].is_ascii() && !matches!(bytes[stop], b'\'' | b'-') {
                let hash = lower_hash(&bytes[at..stop]);
                out.push(Word {
                    start: at,
                    end: stop,
                    hash,
                    clause,
                });
                clause = false;
                at = stop;
                continue;
            }
        }
        let Some(c) = text[at..end].chars().next() else {
            break;
        };
        let after = at + c.len_utf8();
        if (c.is_alphanumeric() && !unspaced(c)) || super::script::combining(c) {
            from.get_or_insert(at);
            fold(c, &mut folded);
            at = after;
            continue;
        }
        if from.is_some() && matches!(c, '\'' | '’' | '-') {
            let inner = text[after..end]
                .chars()
                .next()
                .is_some_and(|n| n.is_alphabetic() && !unspaced(n));
            if c == '-' && inner {
                folded.push('-');
                at = after;
                continue;
            }
            if c != '-' && (inner || elided(&folded)) {
                folded.push('\'');
                if elided(&folded[..folded.len() - 1]) {
                    close(&mut folded, &mut from, after, &mut clause, out);
                }
                at = after;
                continue;
            }
        }
        close(&mut folded, &mut from, at, &mut clause, out);
        clause |= matches!(
            c,
            ',' | ';'
                | ':'
                | '—'
                | '–'
                | '-'
                | '('
                | '.'
                | '!'
                | '?'
                | '¡'
                | '¿'
                | '"'
                | '…'
                | '\n'
                | '*'
        );
        at = after;
    }
    close(&mut folded, &mut from, end, &mut clause, out);
}

fn close(
    folded: &mut String,
    from: &mut Option<usize>,
    end: usize,
    clause: &mut bool,
    out: &mut Vec<Word>,
) {
    if let Some(start) = from.take() {
        out.push(Word {
            start,
            end,
            hash: hash(folded.as_bytes()),
            clause: *clause,
        });
        *clause = false;
    }
    folded.clear();
}

/// French and its kin: l', d', n', j' … are words of their own.
fn elided(folded: &str) -> bool {
    matches!(folded, "l" | "d" | "n" | "j" | "m" | "t" | "s" | "c" | "qu")
}

/// Quoted stretches and inline code of a sentence, in order.
pub(crate) fn quotes(text: &str, start: usize, end: usize, out: &mut Vec<(usize, usize)>) {
    out.clear();
    let mut open: Option<(usize, char)> = None;
    for (i, c) in text[start..end].char_indices() {
        let at = start + i;
        if let Some((from, mark)) = open {
            if c == mark || mark == '”' && matches!(c, '“' | '"') {
                out.push((from, at + c.len_utf8()));
                open = None;
            }
            continue;
        }
        let mark = match c {
            '"' => '"',
            '`' => '`',
            '“' | '„' => '”',
            '«' => '»',
            '「' => '」',
            '『' => '』',
            '‘' => '’',
            _ => continue,
        };
        open = Some((at, mark));
    }
}
