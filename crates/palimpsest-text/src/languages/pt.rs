//! Portuguese.

use super::tables::{Tables, Time, TimeUnit, TimeWord, Worth};

pub(super) const TABLES: Tables = Tables {
    letters: &[("ãõ", 0.4)],
    small_words: "o a os as de que e do da em um uma para com não é no na se por mais dos das como mas foi ao ele ela tem \
             seu sua ou ser quando muito nos já está eu também só pelo pela até isso são você meu minha nunca sempre \
             fazer obrigado então depois sem aos isto estou uso têm vou",
    worth: &Worth {
        filler: "olá oi obrigado obrigada legal bom boa ótimo claro perfeito parabéns adoro espero acho verdade \
                 beleza tchau maravilhoso incrível certo feliz prazer sorte",
        first: "eu meu minha meus minhas nós nosso nossa comigo",
        second: "você vocês seu sua teu tua contigo",
        time: "ontem hoje amanhã semana mês ano passado passada próximo próxima segunda terça quarta quinta sexta \
                 sábado domingo janeiro fevereiro março abril maio junho julho setembro outubro dezembro verão \
                 inverno aniversário noite",
        change: "agora novo nova mudou mudado adiado corrigido",
        ..Worth::NONE
    },
    time: &Time {
        words: &[
            (TimeWord::Day(-1), "ontem"),
            (TimeWord::Day(-2), "anteontem"),
            (TimeWord::Day(1), "amanha"),
            (TimeWord::Last, "passado,passada"),
            (TimeWord::Next, "proximo,proxima"),
            (TimeWord::Before, "ha"),
            (TimeWord::Ago, "atras"),
        ],
        counts: "um,uma dois,duas tres quatro cinco seis sete oito nove dez",
        units: &[
            (TimeUnit::Days, "dia,dias"),
            (TimeUnit::Weeks, "semana,semanas"),
            (TimeUnit::Weekend, "fim-de-semana"),
            (TimeUnit::Months, "mes,meses"),
            (TimeUnit::Years, "ano,anos"),
            (TimeUnit::Weekday(0), "segunda-feira"),
            (TimeUnit::Weekday(1), "terca-feira"),
            (TimeUnit::Weekday(2), "quarta-feira"),
            (TimeUnit::Weekday(3), "quinta-feira"),
            (TimeUnit::Weekday(4), "sexta-feira"),
            (TimeUnit::Weekday(5), "sabado"),
            (TimeUnit::Weekday(6), "domingo"),
        ],
        months: "jan fev mar abr mai jun jul ago set out nov dez",
        ..Time::NONE
    },
    ..Tables::NONE
};
