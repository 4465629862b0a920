//! Japanese.

use super::cue::Cue;
use super::rules::{ConstraintKind, Grammar, Rule, Test, When};
use super::tables::{Choice, Pasted, Personal, Quantities, Refusal, RuleWords, Script, Standing, Tables, Time, TimeUnit, TimeWord, Worth};

use Cue as C;
use ConstraintKind as K;
use Test as T;
use When as W;

pub(super) const TABLES: Tables = Tables {
    script: Script::Kana,
    worth: &Worth {
        filler: "ありがとう すごい こんにちは いいね うれしい よかった 素敵 なるほど おめでとう",
        first: "私 僕 俺",
        second: "あなた",
        time: "昨日 今日 明日 先週 来週 先月 来月 去年 来年 月曜 火曜 水曜 木曜 金曜 土曜 日曜",
        change: "変更 今は 訂正 延期 新し 代わ 改め 今後 値上げ 値下げ 前倒し 延長 短縮 中止 増え 下が 上が",
        ..Worth::NONE
    },
    cues: CUES,
    grammar: Some(&Grammar::Unspaced(RULES)),
    standing: &Standing {
        is_verb_last: true,
        question_ends: "ですか|ますか|ましたか",
        money: "ユーロ",
        phrases: include_str!("tables/ja.txt"),
        ..Standing::NONE
    },
    personal: &Personal {
        leads: "あと、|また、|ちなみに、|なお、|実は、|それと、",
        subjects: "私は|僕は|俺は|私たちは|うちは|ここでは|このプロジェクトでは|私|僕",
        strict: "絶対に|決して|一切",
        denials: "ません|ないです|ない",
        firm: "食べません|食べられません|飲みません|飲めません|乗りません|乗れません|運転しません|使いません|吸いません|\
                 行きません|着ません|買いません|受け付けません|食べない|飲まない|乗らない|使わない|運転できません|泳げません",
        passing: "分かりません|わかりません|知りません|ありません|いません|思いません|すみません|かもしれません|なりません|\
                 なければ|覚えていません|ないでください|ないといけ|彼は|彼女は|弟は|兄は|母は|父は|友達は",
        tastes: "は避けています|は苦手です|が苦手です|が嫌いです",
        conditions: "アレルギー|ベジタリアン|ヴィーガン|菜食|乳糖不耐|糖尿病|車椅子|高所恐怖症|ハラール",
        moment: "今日|昨日|明日|まだ|今は|今回|でした|ました|前は|だった|先週",
        done: "予約しました|支払いました|注文しました|予約済み|確定しました",
        request_ends: &[
            ("もらえますか", "ください"),
            ("もらえませんか", "ください"),
            ("いただけますか", "ください"),
            ("いただけませんか", "ください"),
            ("くれますか", "ください"),
            ("くれませんか", "ください"),
        ],
        lasting: "毎回|いつも|常に|必ず|ないで|今後|これから|すべて|全て|だけ",
        ..Personal::NONE
    },
    rules: &RuleWords {
            choices: &[
            (Choice::English, "英語"),
            (Choice::German, "ドイツ語"),
            (Choice::French, "フランス語"),
            (Choice::Spanish, "スペイン語"),
            (Choice::Russian, "ロシア語"),
            (Choice::Chinese, "中国語"),
            (Choice::Japanese, "日本語"),
            (Choice::Spaces, "スペース"),
            (Choice::Formal, "敬語"),
        ],
        unspaced_denials: "ではなく",
        ..RuleWords::NONE
    },
    pasted: &Pasted {
        headers: "差出人|宛先|件名|日時|送信日時|送信者",
        formal_greetings: "拝啓|各位",
        greetings: "こんにちは",
        rules: "ルール|規則|決まり|お願い|約束",
        unspaced_own: "私",
        before_colon: "要約|訳し|コンテキスト|文脈|メール|次の|記事|文書|ページ|出力|書き|書い|言い|言っ|添付|引用|本文|資料|返信|校正",
        before_text: "要約|まとめ|訳し|次の|このメール",
        ..Pasted::NONE
    },
    time: &Time {
        unspaced: &[
            ("一昨日", TimeWord::Day(-2), TimeUnit::Days),
            ("昨日", TimeWord::Day(-1), TimeUnit::Days),
            ("明日", TimeWord::Day(1), TimeUnit::Days),
            ("先週", TimeWord::Last, TimeUnit::Weeks),
            ("来週", TimeWord::Next, TimeUnit::Weeks),
            ("先月", TimeWord::Last, TimeUnit::Months),
            ("来月", TimeWord::Next, TimeUnit::Months),
            ("去年", TimeWord::Last, TimeUnit::Years),
            ("来年", TimeWord::Next, TimeUnit::Years),
        ],
        ..Time::NONE
    },
    quantities: &Quantities {
        unspaced_units: "時間|日間|週間|ヶ月|か月|カ月|年間|万円|億円|文字|キロ|メートル|グラム|ドル|ユーロ|ミリ秒|秒|度|人|名|行|字|倍|次|点|条|万|円|分|時|個|本|回",
        ..Quantities::NONE
    },
    refusal: &Refusal {
        openings: "申し訳|すみません",
        declined: "要約|手伝|対応|お答え|できません",
        nothing: "なし",
        ..Refusal::NONE
    },
    errors: "エラー",
    secrets: "パスワード",
    ..Tables::NONE
};

const RULES: &[Rule] = &[
    Rule {
        kind: None,
        when: &[W::Either(&[
            &[W::Has(C::Question)],
            &[W::Has(C::Reported)],
            &[W::Has(C::Idle)],
            &[W::Ends("ました|でした|だった|なかった|していた|った")],
        ])],
    },
    Rule {
        kind: Some(K::Deadline),
        when: &[W::Has(C::Deadline), W::Due],
    },
    Rule {
        kind: Some(K::Deadline),
        when: &[W::Has(C::Need), W::Phrase(C::By, &[T::DatePrecedes(15)])],
    },
    Rule {
        kind: Some(K::Budget),
        when: &[W::Number, W::Has(C::Budget)],
    },
    Rule {
        kind: Some(K::Budget),
        when: &[W::Number, W::Has(C::Cap), W::Has(C::Imperative)],
    },
    Rule {
        kind: Some(K::Prohibition),
        when: &[
            W::Has(C::MustNot),
            W::Lacks(C::OneShot),
            W::Lacks(C::Subject),
        ],
    },
    Rule {
        kind: Some(K::Prohibition),
        when: &[
            W::Has(C::Avoid),
            W::Has(C::Imperative),
            W::Lacks(C::Subject),
        ],
    },
    Rule {
        kind: Some(K::Standing),
        when: &[
            W::Has(C::Imperative),
            W::Lacks(C::Subject),
            W::Either(&[&[W::Has(C::FromNow)], &[W::Has(C::Every)]]),
        ],
    },
    Rule {
        kind: Some(K::Obligation),
        when: &[
            W::Has(C::Imperative),
            W::Lacks(C::Subject),
            W::Lacks(C::OneShot),
            W::Either(&[
                &[W::Has(C::Must)],
                &[W::Has(C::Always)],
                &[W::Has(C::Only)],
                &[W::Has(C::Answer), W::Has(C::Tongue)],
            ]),
        ],
    },
    Rule {
        kind: Some(K::Permission),
        when: &[W::Has(C::Permission), W::Has(C::Change)],
    },
];

#[rustfmt::skip]
const CUES: &[(Cue, &str)] = &[
    (C::MustNot, "ないでください|ないで下さい|ないでほしい|てはいけません|てはいけない|てはならない|てはなりません|てはだめ|ないこと|禁止|使わないで|しないで|書かないで|変えないで|消さないで|触らないで|言わないで|入れないで|送らないで|呼ばないで|ないようにして|ちゃだめ|ないように"),
    (C::Must, "必ず|なければならない|なければなりません|ないといけない|しなければ|必須"),
    (C::Always, "常に|いつも|絶対に|どんな場合も"),
    (C::FromNow, "今後は|今後、|今後も|今後一切|これからは|これ以降|以後|以降は|この会話では|この先|今から"),
    (C::Only, "だけを使|のみ使|だけ使|のみを使|だけで答|のみで答|だけにして|のみにして|限定して"),
    (C::Avoid, "避けて|控えて|やめて"),
    (C::Imperative, "てください|て下さい|でください|お願いします|してほしい|してね|すること|必須|ように|使って|答えて|書いて|返信して|呼んで|にして|してくれ|頼む"),
    (C::Answer, "で答え|で返信|で返答|で回答|で話し|で書い|で説明"),
    (C::Tongue, "日本語|英語|ドイツ語|フランス語|スペイン語|中国語|ロシア語|敬語|標準語|丁寧語"),
    (C::Every, "毎回|そのたびに|たびに|すべての回答|全ての回答"),
    (C::Budget, "予算|費用"),
    (C::Cap, "以内|以下|まで|超えない|最大|上限|未満"),
    (C::Under, "以上|少なくとも|最低"),
    (C::Deadline, "締め切り|締切|期限|納期|〆切|提出日"),
    (C::By, "までに"),
    (C::Need, "必要|ください|お願い|完成|納品|提出|終わら|仕上げ|公開|なければ"),
    (C::Subject, "私は|僕は|俺は|彼は|彼女は|彼らは|私たちは|母は|父は|友達は|先生は"),
    (C::You, "あなた"),
    (C::Reported, "と言っ|と書い|によると|と言われ|そうです|らしい|エラー|と聞い"),
    (C::OneShot, "まだ|今回は|今日は|とりあえず|今は"),
    (C::Idle, "心配しないで|気にしないで|遠慮しないで|忘れないで|心配いら|無理しないで|怒らないで"),
    (C::Past, "ました|でした|だった|なかった|していた|った。"),
    (C::Permission, "てもいい|てもよい|ても構いません|ても大丈夫|なくていい|なくてもいい|必要はありません"),
    (C::Change, "もう|やっぱり|やはり|代わりに|今度は|に変更|に変えて"),
    (C::Decision, "決めました|決定|に決め|にしましょう|にします|を採用|を選びました|を選んだ|で行きましょう|でいきましょう|ことにした|ことにしました|方針|使うことに"),
    (C::Preference, "が好き|好きな|の方がいい|のほうがいい|が嫌い|嫌いな|苦手|アレルギー|菜食|ベジタリアン|好み|食べません|食べられ|飲みません|たいです"),
    (C::Negation, "ない|ません|なく|ずに|禁止|以外|できない|できません|ではない|なし"),
    (C::Question, "か？|ですか|ますか|でしょうか|何|なぜ|どうして|どうやって|どうすれ|いつです|いつから|いつまで|どこ|誰"),
];
