//! English.

use super::cue::Cue;
use super::rules::{Forms, Grammar, Test, When};
use super::tables::{Choice, DateWords, Pasted, Personal, Quantities, Refusal, RuleWords, Standing, Tables, Time, TimeUnit, TimeWord, Worth};

use Cue as C;
use Test as T;
use When as W;

pub(super) const TABLES: Tables = Tables {
    small_words: "the and of to in is that it you for was on are with as this be have not at but they from we an by or \
             what all can has will would my me your do if so about when which there their been more our no just \
             don't i'm it's i am please use never always must should could did does had he she his her him them us \
             who how why where than then some any only into out up now also very like these those its were after \
             before until while during since without within between against per each every many few much such own \
             same other another again still once away back around because let's i'll i've that's",
    open_ends: "the a an and or of to in with for by from that which because but is are was were their its",
    abbreviations: "al approx art aug ca cf dept dr e.g eq est feb fig g gen i.e inc jan mr mrs ms oct pp prof sr st vol vs",
    worth: &Worth {
        filler: "wow great awesome sounds sound thanks thank glad hey hi hello amazing cool nice good sure yeah yes \
                 yep ok okay oh absolutely definitely totally really haha lol welcome bye goodbye congrats \
                 congratulations wonderful fantastic lovely sweet super happy love hope guess think know see well \
                 right proud exciting excited awesome incredible inspiring appreciate support luck cheers friend fun \
                 wish talk chat catch feel feels best perfect excellent alright sorry course pleasure certainly \
                 indeed hear agree care wait",
        first: "i me my mine myself we us our ours i'm i've i'll i'd we're we've we'll",
        second: "you your yours yourself you're you've you'll you'd ya",
        time: "yesterday today tomorrow tonight ago last next week weekend month year morning evening night \
                 afternoon monday tuesday wednesday thursday friday saturday sunday january february april june july \
                 august september october november december spring summer autumn fall winter since until recently \
                 soon birthday anniversary daily weekly deadline",
        change: "now new instead actually rather changed change changes moved moves raised \
                 raising lowered cut updated update correction corrected replaced replaces \
                 void cancelled canceled postponed rescheduled switched longer anymore \
                 increased increases reduced reduces revised delayed extended shortened \
                 renamed swapped bumped upgraded downgraded shifted relocated amended \
                 adjusted",
        contractions: "it's that's don't doesn't didn't can't won't isn't wasn't aren't weren't couldn't wouldn't \
                 shouldn't haven't hasn't hadn't he's she's they're they've there's what's let's ain't gonna wanna \
                 gotta kinda lot bit",
    },
    cues: CUES,
    grammar: Some(&Grammar::Spaced(Forms {
        frequency: &[&[
            T::NoStory,
            T::NotThen(C::Subject),
            T::NotThen(C::You),
            T::NotThen(C::We),
        ]],
        forbids: &[
            (
                C::Dont,
                &[
                    T::NotReported,
                    T::NotThen(C::Idle),
                    T::NoSubject,
                    T::OpensClause,
                    T::HasNext,
                    T::NotThen(C::Subject),
                    T::Sentence(&W::NoPhrase(C::Question, &[T::First])),
                ],
            ),
            (
                C::MustNot,
                &[
                    T::NotReported,
                    T::Either(BARE),
                    T::NextIsNot("have be"),
                    T::Sentence(&W::LeastWords(4)),
                ],
            ),
            // "must not be deleted", "it must not be over 2 MB"
            (
                C::MustNot,
                &[
                    T::NotReported,
                    T::Either(BARE),
                    T::NextIs("be"),
                    T::Either(&[
                        &[T::SecondEnds("ed en wn nt ut")],
                        &[T::Sentence(&W::Number)],
                    ]),
                ],
            ),
            (
                C::Stop,
                &[
                    T::OpensClause,
                    T::NextEnds("ing"),
                    T::NextIsNot("being anything everything worrying"),
                ],
            ),
        ],
        binds: &[
            // "something you must see" recommends
            (
                C::Must,
                &[
                    T::NotReported,
                    T::NoSubject,
                    T::NotFirst,
                    T::NotInnerAfter(C::You),
                    T::HasNext,
                    T::NextIsNot(
                        "have not never feel know say admit seem think understand see be",
                    ),
                ],
            ),
            (
                C::Must,
                &[
                    T::NotReported,
                    T::NoSubject,
                    T::NotFirst,
                    T::NotAfter(C::You),
                    T::NextIs("be"),
                    T::Either(&[
                        &[T::Sentence(&W::Number)],
                        &[T::SecondEnds("ed en nt ut"), T::SecondIsNot("been")],
                    ]),
                ],
            ),
        ],
        subject_gap: 1,
        story_endings: &[("ed", 0), ("ing", 6)],
        tellers: "i he she they",
        needs: "need want",
        ..Forms::NONE
    })),
    standing: &Standing {
        has_to_infinitive: true,
        denies_unknown_verbs: true,
        money: "EUR|euro|Euro|USD|CHF|dollar|bucks|franc",
        phrases: include_str!("tables/en.txt"),
        ..Standing::NONE
    },
    personal: &Personal {
        leads: "and|but|also|so|well|oh|hi|hello|hey|ok|okay|please|note|note that|remember|remember that|keep in mind|\
                 keep in mind that|bear in mind|bear in mind that|by the way|btw|fyi|just so you know|for the record|\
                 because|since|as|just|you should know that|in general|generally|here|be aware that|one more thing",
        subjects: "i|we|our team|my family and i|my wife and i|my husband and i",
        states: "i'm|i am|i have|i've|im|we're|we are|we have|i am on",
        past_endings: "ed",
        between: "really|strictly|strongly|firmly|deeply|adamantly|vastly|much|personally|generally|usually|typically|absolutely|also|still|just|simply|both",
        strict: "never|never ever",
        loose: "only|always|exclusively",
        denials: "don't|do not|dont|won't|will not|can't|cannot|can not|cant",
        firm: "eat|drink|drive|fly|travel|smoke|use|take|do|climb|swim|walk|wear|buy|book|shop|work|deploy|push|merge|\
                 commit|ship|release|support|allow|accept|permit|stay|watch|read|play|cook|speak|write|rent|own|hike|ride|\
                 ski|squash|consume|tolerate|pay|gamble|follow|publish|share|sleep|rely",
        passing: "think|know|knew|remember|understand|mean|see|saw|get|got|care|mind|want|wanted|have|need|feel|felt|\
                 believe|wait|find|found|recall|thought|said|told|did|had|was|were|went|came|heard|like|love|loved|look|\
                 wonder|forget|make|made|seem|agree|worry|quit|give|gave|help|stop|expect|hear|notice|realize|realise|\
                 learn|let|be|been|tire|miss|regret|plan|hope|doubt|hesitate|imagine|met|took|left|saying|say|try|ask|can|could|\
                 may|might|should|mix|appreciate|enjoy|struggle|end|fail",
        tastes: "prefer|prefer to|dislike|hate|detest|avoid|refuse|refuse to|can't stand|cannot stand|don't like|do not like|\
                 don't enjoy|do not enjoy|not a fan of|not interested in|not comfortable|afraid of|scared of|a phobia of|\
                 an aversion|a strong aversion|use a wheelchair|would rather not|try to avoid|no interest in|a strong dislike|a deep dislike|an intense dislike|a strong preference|\
                 a deep aversion|loathe|despise|find it hard|find it difficult|left-handed|\
                 on a diet|follow a|opposed to|against",
        conditions: "allergic|allergy|allergies|intolerant|intolerance|vegetarian|vegan|pescatarian|coeliac|celiac|diabetic|\
                 kosher|halal|phobia|wheelchair|colour-blind|color-blind|teetotal|gluten-free|dyslexic",
        moment: "yet|today|tonight|tomorrow|yesterday|right now|at the moment|this time|for now|ago|used to|this morning|\
                 this week|this weekend|currently|when i was|as a kid|as a child|was|were|had|did|last week|last year|\
                 last night|last month|last time|would|anymore|any more|until now|so far|do that|do this|wonder|wondered|thought|once",
        done: "booked|paid|ordered|reserved|confirmed|bought|cancelled|rebooked|sent|done|sorted|signed",
        requests: "could you|can you|would you|will you|could we|can we|could you please|can you please|would you please|\
                 please could you|please can you|would you mind|would it be possible to|is it possible to|\
                 it would be nice if you could|it would be nice if you|it would be great if you could|\
                 it would be great if you|it'd be great if you could|it'd be nice if you could|it would help if you|\
                 it'd be cool if you could|i'd be grateful if you could|i would be grateful if you could|\
                 i'd appreciate it if you could|i would appreciate it if you could|can i ask you to|could i ask you to",
        lasting: "always|never|every time|each time|every answer|every reply|every response|each answer|each reply|\
                 each response|whenever|stop|avoid|throughout|from now on|from here on|from this point on|going forward|\
                 rest of|for our conversation|for this conversation|during our conversation|all your|no longer|\
                 your answers|your replies|your responses|your messages|the answers|the greetings",
        ..Personal::NONE
    },
    rules: &RuleWords {
            choices: &[
            (Choice::English, "english"),
            (Choice::German, "german"),
            (Choice::French, "french"),
            (Choice::Spanish, "spanish"),
            (Choice::Russian, "russian"),
            (Choice::Chinese, "chinese"),
            (Choice::Japanese, "japanese"),
            (Choice::Italian, "italian"),
            (Choice::Portuguese, "portuguese"),
            (Choice::OtherTongue, "dutch polish korean turkish arabic"),
            (Choice::Tabs, "tabs tab"),
            (Choice::Spaces, "spaces space"),
            (Choice::Metric, "metric"),
            (Choice::Imperial, "imperial"),
            (Choice::Formal, "formal"),
            (Choice::Informal, "informal"),
            (Choice::British, "british"),
            (Choice::American, "american"),
            (Choice::Light, "light"),
            (Choice::Dark, "dark"),
            (Choice::Short, "short brief concise"),
            (Choice::Long, "long detailed"),
            (Choice::Single, "single"),
            (Choice::Double, "double"),
            (Choice::Monday, "monday"),
            (Choice::Tuesday, "tuesday"),
            (Choice::Wednesday, "wednesday"),
            (Choice::Thursday, "thursday"),
            (Choice::Friday, "friday"),
            (Choice::Saturday, "saturday"),
            (Choice::Sunday, "sunday"),
        ],
        frame: "please now actually instead really okay make sure keep use used using want need may can allowed \
                 rule changed change mind moved new still total whole over per any again after under max maximum \
                 most more than",
        denials: "not never don't no instead rather without stop avoid",
        ..RuleWords::NONE
    },
    pasted: &Pasted {
        headers: "from|to|cc|bcc|subject|date|sent|reply-to|re|fwd",
        formal_greetings: "dear |to whom it may",
        greetings: "hi|hello|hey|good morning",
        rules: "rule|convention|guideline|requirement|preference|constraint|instructions for you|wish|limits|keep to",
        own: "my our i we",
        before_colon: "summar|translat|proofread|explain|rewrit|rephras|paraphras|classif|analys|analyz|shorten|correct|\
                 improve|review|look at|polish|grammar|sentiment|lyrics|here's|here is|here are|here was|this is|\
                 these are|reads|read this|says|said|wrote|writes|told|states|following|below|got this|received|mail|\
                 message from|letter|text|article|document|page|website|context|source|passage|excerpt|quote|output|\
                 result|response|log|transcript|ticket|post|comment|chapter|story|poem|prompt|content|search|tool|\
                 file|note from|reply to|answer to",
        before_text: "summaris|summariz|summary of|translat|proofread|rewrit|rephras|paraphras|below|following|attached|\
                 pasted|here's the|here is the|here are the|this mail|this email|this article|this text|this page|\
                 this document|i got this",
        ..Pasted::NONE
    },
    time: &Time {
        words: &[
            (TimeWord::Day(-1), "yesterday"),
            (TimeWord::Day(1), "tomorrow"),
            (TimeWord::Last, "last"),
            (TimeWord::Next, "next"),
            (TimeWord::Ago, "ago"),
            (TimeWord::Night, "night"),
        ],
        counts: "a,an,one two three four five six seven eight nine ten",
        units: &[
            (TimeUnit::Days, "day,days"),
            (TimeUnit::Weeks, "week,weeks"),
            (TimeUnit::Weekend, "weekend"),
            (TimeUnit::Months, "month,months"),
            (TimeUnit::Years, "year,years"),
            (TimeUnit::Weekday(0), "monday,mon"),
            (TimeUnit::Weekday(1), "tuesday,tues,tue"),
            (TimeUnit::Weekday(2), "wednesday,wed"),
            (TimeUnit::Weekday(3), "thursday,thurs,thu"),
            (TimeUnit::Weekday(4), "friday,fri"),
            (TimeUnit::Weekday(5), "saturday,sat"),
            (TimeUnit::Weekday(6), "sunday,sun"),
        ],
        likening: "like as",
        months: "jan feb mar apr may jun jul aug sep oct nov dec",
        dates: Some(&DateWords {
            months: [
                "January",
                "February",
                "March",
                "April",
                "May",
                "June",
                "July",
                "August",
                "September",
                "October",
                "November",
                "December",
            ],
            week: ["week before", "week after"],
            weekend: ["weekend before", "weekend after"],
            about: "about",
        }),
        ..Time::NONE
    },
    quantities: &Quantities {
        units: "calls cents characters chars columns cores day days dollar dollars errors euro euros feet files \
                 foot gallons grams hour hours hr hrs inch inches items kilo kilos kilometer kilometers kilometres \
                 lines liter liters litre litres messages meter meters metres mile miles million millions mins \
                 minute minutes month months ounces pages participants people percent persons petabytes pixels \
                 points pounds req requests retries rounds rows sec seconds secs steps thousand times tokens tons \
                 users watt week weeks words worker workers yards year years yen yuan",
        months: "apr april aug august dec december feb february jan january jul july jun june mar march may nov \
                 november oct october sep sept september",
        weekdays: "friday monday saturday sunday thursday tuesday wednesday",
        counts: "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty \
                 ninety hundred",
        ordinals: "st nd rd th",
        hours: "am pm AM PM o'clock o’clock",
        of: "of",
        magnitudes: "million millions billion thousand k",
        ..Quantities::NONE
    },
    refusal: &Refusal {
        openings: "i can't|i cannot|i can not|i'm sorry|i am sorry|sorry,|i'm unable|i am unable|i'm not able|\
                 i am not able|i won't|i will not|as an ai|as a language model|i apologize|unfortunately, i can|\
                 i don't have access|i do not have access|i must decline|there is no conversation|please provide|\
                 could you please provide",
        declined: "help|assist|summar|provide|comply|fulfil|do that|process|access|continue|generate|discuss|answer|\
                 create|complete|request|conversation|language model|as an ai|the text",
        nothing: "none|n/a|na|nothing|not applicable|tbd",
        placeholders: "none|na|null|undefined|no summary|no summary available|no content|nothing to summarize|summary|\
                 empty|ok|okay|done",
    },
    errors: "error warning fatal exception",
    secrets: "password|passwd|passphrase|passcode|pwd|secret|api key|api-key|api_key|apikey|token|bearer|credential",
    ..Tables::NONE
};

/// No subject stands before it, but "it" may where a number follows: "it must not be over 2 MB".
const BARE: &[&[Test]] = &[
    &[T::NoSubject],
    &[T::LastIs("it"), T::Sentence(&W::Number)],
];

#[rustfmt::skip]
const CUES: &[(Cue, &str)] = &[
    (C::Never, "never|never ever"),
    (C::Always, "always"),
    (C::Dont, "do not|don't|dont|do not ever|don't ever"),
    (C::MustNot, "must not|mustn't|must never|shall not|you may not|should not|shouldn't|should never|is not allowed|are not allowed|isn't allowed|aren't allowed|not permitted|is forbidden|are forbidden|is prohibited|under no circumstances|off limits|off-limits|is not to be|are not to be|no circumstances"),
    (C::Must, "must|is required to|are required to"),
    (C::Should, "should|sure to|sure you|sure that you|remember to|supposed to|have to|has to|needs to"),
    (C::Wish, "want you to|like you to|need you to|ask you to|expect you to|asking you to|want it to|want them to|want replies to|want answers to"),
    (C::FromNow, "from now on|from here on|from here on out|from this point on|from this point forward|going forward|for the rest of this|for the rest of the|for the remainder of|in all future|in future replies|in future answers|in your future|henceforth|from today on|as of now|starting now|throughout this conversation|throughout the conversation|throughout this project|in this conversation always|as a general rule|as a rule"),
    (C::Scope, "in this repo|in this repository|in this project|in this codebase|in our project|in our codebase|in our repo|on this team|in this session|in this conversation|in this chat"),
    (C::Only, "only|exclusively|solely"),
    (C::Avoid, "avoid|refrain from|stay away from|keep away from|steer clear of|leave alone"),
    (C::Stop, "stop|quit"),
    (C::Imperative, "use|keep|format|include|respond|answer|reply|write|speak|talk|call|address|stick|limit|cite|refer|treat|assume|prefer|quote|sign|start|begin|end|leave|follow|name|translate|store|log|round|convert|commit|ask|check|test|run|prefix|wrap|indent|mention|show|explain|return|stay|edit|touch|change|recommend|suggest|pick|book|buy|schedule|remember|give|put|add|make|ensure|spend|deploy|push|validate|set"),
    (C::Answer, "answer|answers|reply|replies|respond|responses|speak|talk|write to me|write back|write your answers|communicate"),
    (C::Tongue, "english|german|french|spanish|italian|portuguese|dutch|russian|chinese|japanese|korean|polish|turkish|arabic|hindi|swedish|mandarin|latin|ukrainian|british english|american english"),
    (C::Every, "in the future|in future|every time|each time|whenever|any time|anytime|in every reply|in every answer|in every response|in each response|in each reply|with every"),
    (C::All, "all|every|each|any|everything|no|none"),
    (C::Ensure, "make sure|be sure|ensure|see to it"),
    (C::Budget, "budget|spending limit|price limit|cost limit|my limit|our limit|price cap|the limit is|spending cap"),
    (C::Cap, "at most|no more than|not more than|maximum|max|not exceed|can't exceed|cannot exceed|mustn't exceed|not spend more than|not go over|not go above|limit of|cap of|capped at|upper limit|up to|no longer than|no larger than|at the most"),
    (C::Under, "under|below|within|less than|fewer than|at least|no less than|no fewer than|shorter than|smaller than"),
    (C::Deadline, "deadline|due date|cut-off date|cutoff date|is due|are due|due on|due by"),
    (C::By, "by|before|until|no later than|not later than"),
    (C::Need, "need|needs|must|has to|have to|finish|deliver|due|submit|ship|launch|release|hand in|complete|want"),
    (C::Subject, "i|he|she|it|they|i'm|i've|he's|she's|it's|they're|who|which|that|this|there|my mom|my boss|people|everyone|nobody|somebody|someone"),
    (C::We, "we|we're|we've|we'll|our team"),
    (C::Spend, "spend|spending|pay|paying|cost|costs"),
    (C::You, "you|you're|you'll"),
    (C::Reported, "says|said|told|tells|according to|states|stated|claims|claimed|wrote|reads|warns|warned|recommends|recommended|documentation says|docs say|they say|argues|suggests that|thinks|thought|mentions|mentioned|sang|sings|goes the saying|as the saying goes|once|used to"),
    (C::OneShot, "yet|for now|this time|just this once|for the moment|right now|at the moment|today|tonight|just now|until i|until we"),
    (C::Story, "seen|been|had|heard|thought|knew|known|tried|mind|again|was|were|wanted|loved|liked|said|did|done|gone|went|felt|met|got|saw|have|has|is|are|will|would|could|can|fails|works|wondered|a|an|the|too|fun|good|nice|great|happy|so|enough|there|seemed|realized|gonna|wanna|here|full|up|ready|glad|available|give up|gave up|let anything|let anyone|let your|stop learning|stop believing|lose hope|lose faith|regret|look back|better|more|less|easy|hard|quite|really"),
    (C::Idle, "ever quit|ever give up|ever doubt|ever lose|ever stop believing|worry|know|think|mind|forget|hesitate|be afraid|be sorry|get me wrong|bother|panic|feel|care|believe|remember|understand|see|want|have|need|like|you|we|they|get it|get why|get how|work|look|seem|stress|apologize|apologise|let it|let them|be shy|be silly|give up|sweat|even|really|exist|own|recall|trust yourself|be so hard|be scared|be discouraged|be hard on|quit|let anything|let anyone|let this|let that|let the|miss a|miss out|lose hope|lose heart|beat yourself|rush|underestimate|doubt"),
    (C::Filler, "please|also|and|but|just|then|ok|okay|oh|well|actually|again|note|important|reminder|rule|rules|finally|first|second|or|hey|plus|additionally|furthermore|seriously|kindly|however|still|yes|no|p.s|ps|because|since|so|therefore|thus|hence"),
    (C::Past, "was|were|had|did|went|took|used|got|been|happened|ended"),
    (C::Permission, "you can|you may|you're allowed to|you are allowed to|it's fine to|it is fine to|it's ok to|it's okay to|feel free to|no need to|you don't have to|you do not have to|you don't need to|you no longer need to|are allowed|is allowed"),
    (C::Change, "now|after all|no longer|anymore|any more|instead|again|changed my mind|from now on|forget what i said|scratch that|on second thought"),
    (C::Decision, "we decided|i decided|decided to|decided on|decided that|decision|let's go with|let's use|let's stick with|let's do|we'll go with|we will go with|i'll go with|we'll use|we will use|we're going with|i'm going with|going with|settled on|settle on|we agreed|agreed to|agreed on|agreed that|we chose|i chose|we picked|i picked|i've chosen|we've chosen|we've decided|i've decided|the plan is|final answer|we opted|opted for|i'll take the|conclusion is|we are using|switched to|we'll switch|we will switch"),
    (C::Preference, "i prefer|i'd prefer|i would prefer|we prefer|i'd rather|i would rather|i like|i love|i hate|i dislike|i can't stand|i really like|i really love|my favorite|my favourite|favorite|favourite|i enjoy|i'm a fan|i'm not a fan|i don't like|i do not like|i'm allergic|i am allergic|allergic to|i'm vegetarian|i'm vegan|i don't eat|i do not eat|i don't drink|i want|preference|prefers|i usually|i'm used to|i can't eat|i like my|works best for me"),
    (C::Negation, "never|must not|mustn't|no longer|not allowed|not supported|isn't supported|not possible|isn't possible|cannot|can't|can not|doesn't work|does not work|do not|don't|without|except|not available|isn't available|won't|will not|isn't|is not|aren't|are not|wasn't|was not|doesn't|does not|didn't|did not|avoid|neither|nor|rather than|instead of|not the"),
    (C::Question, "what|why|how|when|where|who|which|can you|could you|would you|will you|do you|does|did you|should i|should we|is there|are there"),
];
