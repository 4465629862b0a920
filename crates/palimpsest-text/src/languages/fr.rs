//! French.

use super::cue::Cue;
use super::rules::{BAN, Forms, Grammar, Test};
use super::tables::{Choice, Pasted, Personal, Quantities, Refusal, RuleWords, Standing, Tables, Time, TimeUnit, TimeWord, Worth};

use Cue as C;
use Test as T;

pub(super) const TABLES: Tables = Tables {
    letters: &[("êèœù", 0.15)],
    small_words: "le la les de des du un une et est en que qui dans pour pas ne sur au aux avec ce il elle je tu nous \
             vous on plus par mais ou son sa ses être fait comme tout cette ces mon ma mes c'est sont avoir été \
             était leur moi si très bien même aussi sans toujours jamais peut faire dois dit cela ça votre vos notre \
             donc où jusqu'à est-ce ici n'est d'un d'une j'ai qu'il",
    open_ends: "le les et ou des du dans pour avec sur qui",
    abbreviations: "mme",
    worth: &Worth {
        filler: "bonjour salut merci super génial cool bien sûr parfait bravo félicitations vraiment oui d'accord \
                 content contente heureux heureuse adore espère crois bisous coucou magnifique chouette ravi ravie \
                 plaisir excellent",
        first: "je j'ai moi mon ma mes nous notre nos",
        second: "tu te toi ton ta tes vous votre vos",
        time: "hier aujourd'hui demain semaine mois année an dernier dernière prochain prochaine lundi mardi \
                 mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août septembre \
                 octobre novembre décembre été hiver printemps automne matin soir nuit anniversaire",
        change: "maintenant nouveau nouvelle nouveaux nouvelles plutôt changé change déplacé \
                 reporté corrigé annulé remplacé avancé désormais dorénavant finalement \
                 déplacée déplacés reportée reportés changée corrigée annulée remplacée \
                 avancée modifié modifiée remplace augmenté augmentée baissé baissée réduit \
                 réduite prolongé prolongée retardé retardée renommé relevé révisé actualisé",
        ..Worth::NONE
    },
    cues: CUES,
    grammar: Some(&Grammar::Spaced(Forms {
        frequency: &[
            &[T::NextEnds("er re ir"), T::NextLongerThan(3)],
            &[T::NextIs("de d' d’")],
        ],
        forbids: &[
            BAN,
            (
                C::Dont,
                &[
                    T::NotReported,
                    T::NotThen(C::Idle),
                    T::NoSubject,
                    T::OpensClause,
                    T::Within(5, "pas jamais plus rien aucun aucune que"),
                ],
            ),
        ],
        tellers: "je j' il elle",
        needs: "besoin",
        ..Forms::NONE
    })),
    standing: &Standing {
        phrases: include_str!("tables/fr.txt"),
        ..Standing::NONE
    },
    personal: &Personal {
        leads: "et|mais|aussi|s'il te plaît|note que|sache que|bonjour|ok|parce que|car|ici|au fait|d'ailleurs|attention",
        subjects: "je|j'|nous",
        states: "je suis|nous sommes|j'ai|nous avons",
        between: "ne|n'|me|m'|nous|en|y|l'|le|la|les|vraiment",
        denial_reach: 4,
        strict: "jamais",
        loose: "toujours|uniquement|seulement",
        denials: "pas|aucun|aucune|plus",
        firm: "mange|bois|conduis|fume|supporte|utilise|utilisons|voyage|vole|porte|achète|travaille|acceptons|déployons|\
                 prends|prenons|parle|nage|paie|autorisons|monte|mangeons|écrivons|poussons",
        passing: "sais|peux|veux|ai|avons|crois|suis|sommes|comprends|pense|vois|étais|avais|dois|trouve|souviens|pouvons|\
                 voulons|savons|fais|vais|dis|espère|aurais|voudrais",
        tastes: "préfère|déteste|évite|refuse|en fauteuil roulant",
        conditions: "allergique|allergie|allergies|végétarien|végétarienne|végétalien|végétalienne|végane|vegan|coeliaque|\
                 cœliaque|intolérant|intolérante|intolérance|diabétique|vertige",
        moment: "aujourd'hui|demain|hier|maintenant|encore|cette fois|pour l'instant|pour le moment|avant|étais|était|avait|\
                 la semaine dernière",
        done: "réservé|payé|commandé|confirmé|acheté|annulé|fait|signé",
        requests: "pourrais-tu|peux-tu|pourriez-vous|pouvez-vous|est-ce que tu peux|est-ce que tu pourrais|\
                 tu pourrais|tu peux|serait-il possible de|ce serait bien si tu pouvais",
        lasting: "toujours|jamais|ne pas|chaque|arrêter|éviter|à partir de maintenant|désormais|dorénavant|uniquement|tous",
        ..Personal::NONE
    },
    rules: &RuleWords {
            choices: &[
            (Choice::English, "anglais"),
            (Choice::German, "allemand"),
            (Choice::French, "français"),
            (Choice::Spanish, "espagnol"),
            (Choice::Russian, "russe"),
            (Choice::Chinese, "chinois"),
            (Choice::Japanese, "japonais"),
            (Choice::Italian, "italien"),
            (Choice::Portuguese, "portugais"),
            (Choice::Spaces, "espaces"),
            (Choice::Formal, "vous"),
            (Choice::Short, "court"),
            (Choice::Long, "détaillé"),
            (Choice::Monday, "lundi"),
            (Choice::Tuesday, "mardi"),
            (Choice::Thursday, "jeudi"),
            (Choice::Friday, "vendredi"),
        ],
        frame: "maintenant utilise",
        denials: "jamais pas lieu ne",
        ..RuleWords::NONE
    },
    pasted: &Pasted {
        headers: "de|à|a|objet|envoyé",
        formal_greetings: "cher |chère |chers |madame,|monsieur,|madame, monsieur",
        greetings: "bonjour|salut",
        rules: "règle|consigne|préférence|contrainte",
        own: "mes mon ma nos notre nous",
        before_colon: "résum|tradui|corrige|voici|suivant|ci-dessous|dit|écrit|courriel|lettre|texte|document|contexte|\
                 sortie|résultat|relis|reformul",
        before_text: "résum|tradui|voici|suivant|ci-dessous|ce mail|ce texte|cet article",
        ..Pasted::NONE
    },
    time: &Time {
        words: &[
            (TimeWord::Day(-1), "hier"),
            (TimeWord::Day(-2), "avant-hier"),
            (TimeWord::Day(1), "demain"),
            (TimeWord::Last, "dernier,derniere"),
            (TimeWord::Next, "prochain,prochaine"),
            (TimeWord::Before, "a"),
        ],
        counts: "un,une deux trois quatre cinq six sept huit neuf dix",
        units: &[
            (TimeUnit::Days, "jour,jours"),
            (TimeUnit::Weeks, "semaine,semaines"),
            (TimeUnit::Weekend, "week-end,weekend"),
            (TimeUnit::Months, "mois"),
            (TimeUnit::Years, "an,ans,annee,annees"),
            (TimeUnit::Weekday(0), "lundi"),
            (TimeUnit::Weekday(1), "mardi"),
            (TimeUnit::Weekday(2), "mercredi"),
            (TimeUnit::Weekday(3), "jeudi"),
            (TimeUnit::Weekday(4), "vendredi"),
            (TimeUnit::Weekday(5), "samedi"),
            (TimeUnit::Weekday(6), "dimanche"),
        ],
        likening: "comme",
        months: "jan fev mar avr mai jun jul aou sep oct nov dec",
        ..Time::NONE
    },
    quantities: &Quantities {
        units: "ans cent heure heures jour jours litre litres mois semaines",
        months: "aout avril decembre fevrier janvier juillet juin mai mars novembre octobre septembre",
        weekdays: "dimanche jeudi lundi mardi mercredi samedi vendredi",
        counts: "deux trois quatre cinq dix",
        hours: "heures",
        ..Quantities::NONE
    },
    refusal: &Refusal {
        openings: "je suis désolé|désolé|je ne peux pas|en tant qu'ia|en tant que modèle",
        declined: "aider|résum|fournir|demande|modèle",
        nothing: "aucun|aucune",
        ..Refusal::NONE
    },
    errors: "erreur",
    secrets: "mot de passe",
    ..Tables::NONE
};

#[rustfmt::skip]
const CUES: &[(Cue, &str)] = &[
    (C::Never, "jamais|plus jamais"),
    (C::Always, "toujours|systématiquement"),
    (C::Dont, "ne|n'"),
    (C::MustNot, "il ne faut pas|il ne faut jamais|ne dois pas|ne dois jamais|ne doit pas|ne doit jamais|ne doivent pas|ne doivent jamais|ne devez pas|ne devez jamais|en aucun cas|sous aucun prétexte|est interdit|interdit de|interdiction de|sont interdits|n'est pas permis|n'est pas autorisé|je ne veux pas que|hors de question"),
    (C::Must, "dois|doit|doivent|devez|il faut"),
    (C::Should, "dois|doit|doivent|devez|il faut|assure-toi de|assurez-vous de|pense à|pensez à"),
    (C::Wish, "veux que|voudrais que|aimerais que|te demande de|vous demande de|souhaite que"),
    (C::FromNow, "à partir de maintenant|dorénavant|désormais|à l'avenir|dès maintenant|à partir d'aujourd'hui|pour le reste de|pour la suite|à compter de maintenant"),
    (C::Only, "uniquement|seulement|exclusivement|que"),
    (C::Avoid, "évite|évitez|abstiens-toi|arrête de|arrêtez de|cesse de"),
    (C::Imperative, "utilise|utilisez|emploie|employez|réponds|répondez|écris|écrivez|parle|parlez|parle-moi|appelle|appelle-moi|appelez-moi|garde|gardez|fais|faites|mets|mettez|inclus|incluez|ajoute|ajoutez|montre|montrez|explique|expliquez|cite|citez|traduis|traduisez|demande|demandez|vérifie|vérifiez|formate|limite|limitez|tutoie-moi|vouvoie-moi|vouvoyez|commence|termine|arrondis|reste|restez|donne|donnez|assure-toi|assurez-vous|laisse|laissez|rédige|rédigez|respecte|respectez|sauvegarde|confirme"),
    (C::Answer, "réponds|répondez|parle|parlez|parle-moi|réponds-moi|écris-moi|réponses|répondre"),
    (C::Tongue, "français|anglais|allemand|espagnol|italien|portugais|russe|chinois|japonais"),
    (C::Every, "chaque fois|à chaque fois|à chaque réponse|dans chaque réponse|dans toutes tes réponses"),
    (C::Ensure, "assure-toi|assurez-vous|veille à|veillez à"),
    (C::All, "tous|toutes|tout|chaque|aucun|aucune|toujours|jamais"),
    (C::Budget, "budget"),
    (C::Cap, "au maximum|maximum|pas plus de|au plus|ne pas dépasser|ne dépasse pas|ne doit pas dépasser|plafond de|limite de|max"),
    (C::Under, "moins de|en dessous de|sous les|au moins|au minimum"),
    (C::Deadline, "date limite|échéance|délai|date butoir|deadline"),
    (C::By, "avant|avant le|d'ici|d'ici le|d'ici au|pour le|jusqu'au|au plus tard"),
    (C::Need, "besoin|doit|dois|faut|prêt|prête|livrer|livré|terminer|terminé|fini|finir|rendre|rendu|envoyer|publier|en ligne"),
    (C::Subject, "je|j'|il|elle|ils|elles|ça|cela|ce|c'|qui|personne|mon|ma"),
    (C::We, "nous|on"),
    (C::Spend, "dépenser|dépense|payer|coûter|coûte"),
    (C::You, "tu|vous"),
    (C::Reported, "dit|disait|disent|selon|d'après|affirme|écrit|raconte|précise"),
    (C::OneShot, "pas encore|pour l'instant|pour le moment|cette fois|aujourd'hui|tout de suite"),
    (C::Story, "été|vu|eu|entendu|pensé|est|était|ai|suis|a|aussi"),
    (C::Idle, "t'inquiète|t'inquiète pas|vous inquiétez|hésite|hésitez|importe|t'en fais|quittez|t'en|oublie|oubliez"),
    (C::Filler, "s'il te plaît|s'il vous plaît|et|mais|aussi|alors|donc|important|note|règle|ok|bon|ah|de plus|car|ou|en plus|enfin|merci de"),
    (C::Past, "était|étaient|avait|avaient|fut|été|a coûté|ai dépensé|avons dépensé|ai payé|avons payé|ai fini"),
    (C::Permission, "tu peux|vous pouvez|il est permis|c'est permis|plus besoin de|tu n'as plus besoin"),
    (C::Change, "maintenant|finalement|plutôt|désormais|ne plus|à la place|de nouveau"),
    (C::Decision, "on a décidé|nous avons décidé|j'ai décidé|avons décidé|décision|on part sur|partons sur|on prend|nous prenons|on va utiliser|nous utiliserons|on garde|convenu|on choisit|j'ai choisi|nous avons choisi|retenu|le plan est"),
    (C::Preference, "je préfère|nous préférons|j'aime|je n'aime pas|j'adore|je déteste|mon préféré|ma préférée|préférée|préféré|je voudrais|j'aimerais|je suis allergique|allergique|végétarien|végétarienne|végane|je ne mange pas|je ne bois pas|je veux"),
    (C::Negation, "jamais|ne pas|n'est pas|ne peut pas|sans|sauf|aucun|aucune|plus possible|ni|au lieu de|ne fonctionne pas|pas"),
    (C::Question, "pourquoi|comment|quand|où|qui|quel|quelle|est-ce que|peux-tu|pouvez-vous|pourrais-tu"),
];
