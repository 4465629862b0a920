//! Chinese.

use super::cue::Cue;
use super::rules::{ConstraintKind, Grammar, Rule, Test, When};
use super::tables::{Choice, Pasted, Personal, Quantities, Refusal, RuleWords, Script, Standing, Tables, Time, TimeUnit, TimeWord, Worth};

use Cue as C;
use ConstraintKind as K;
use Test as T;
use When as W;

pub(super) const TABLES: Tables = Tables {
    script: Script::Han,
    worth: &Worth {
        filler: "谢谢 你好 太好了 真棒 不错 高兴 加油 恭喜 好的 哈哈 是的 再见",
        first: "我 我们",
        second: "你 您 你们",
        time: "昨天 今天 明天 上周 下周 上个月 下个月 明年 星期",
        change: "改为 改到 改成 现在 更正 推迟 换成 新的 不再 改了 变成 变为 变更 调整 涨到 降到 升到 提前 延期 延长 \
                 延误 推后 更换 更新 今后 改名 缩短",
        ..Worth::NONE
    },
    cues: CUES,
    grammar: Some(&Grammar::Unspaced(RULES)),
    standing: &Standing {
        question_ends: "吗|呢",
        money: "欧元",
        phrases: include_str!("tables/zh.txt"),
        ..Standing::NONE
    },
    personal: &Personal {
        leads: "另外|还有|请注意|请记住|记住|注意|顺便说一下|对了|因为|而且|但是|，|、| ",
        subjects: "我们这里|我们团队|我们|我",
        states: "我对|我是|我有|我们是|我吃|我患|我坐",
        between: "这里|平时|一般|也|都|对",
        strict: "从不|从来不|绝不|绝对不",
        loose: "只|总是|一直",
        denials: "不能|不会|不",
        firm: "吃|喝|开车|坐|抽|用|穿|买|爬|游|允许|接受|支持|发布|部署|乘|住|写|会开",
        passing: "知道|记得|想|太|是|确定|明白|懂|觉得|要|好意思|同意|认为|敢|久|过是|可能|怎么|小心|了解|认识|相信|得不",
        tastes: "更喜欢|讨厌|避免|拒绝|不喜欢",
        conditions: "过敏|吃素|素食|纯素|乳糖不耐|糖尿病|轮椅|恐高|清真",
        moment: "今天|昨天|明天|现在|刚才|这次|暂时|过去|以前|了|上周|还没",
        done: "已预订|订好了|已付款|已下单|已确认|买好了|已取消",
        requests: "你能不能|能不能|你可不可以|可不可以|你可以|可以请你|你能|能否|可否|请问你能",
        request_ends: &[("吗", ""), ("么", ""), ("呢", "")],
        lasting: "每次|每个|总是|始终|一直|不要|别|从现在|以后|只用|所有|都",
        ..Personal::NONE
    },
    rules: &RuleWords {
            choices: &[
            (Choice::English, "英语 英文"),
            (Choice::German, "德语"),
            (Choice::French, "法语"),
            (Choice::Spanish, "西班牙语"),
            (Choice::Russian, "俄语"),
            (Choice::Chinese, "中文 汉语"),
            (Choice::Japanese, "日语 日文"),
            (Choice::Spaces, "空格"),
            (Choice::Formal, "敬语"),
            (Choice::Short, "简短"),
            (Choice::Long, "详细"),
        ],
        unspaced_denials: "不要|别|不用|而不是|禁止",
        ..RuleWords::NONE
    },
    pasted: &Pasted {
        headers: "发件人|收件人|主题|日期|发送时间|寄件人",
        formal_greetings: "尊敬的|敬启|各位|致：",
        greetings: "您好|你好|大家好",
        rules: "规则|要求|偏好|约定",
        unspaced_own: "我",
        before_colon: "概括|翻译|修改|润色|总结|邮件|以下|下面|写道|说|文章|文档|网页|上下文|输出|结果",
        before_text: "概括|翻译|润色|总结|以下|下面|这封|这篇",
        ..Pasted::NONE
    },
    time: &Time {
        unspaced: &[
            ("前天", TimeWord::Day(-2), TimeUnit::Days),
            ("昨天", TimeWord::Day(-1), TimeUnit::Days),
            ("明天", TimeWord::Day(1), TimeUnit::Days),
            ("上周", TimeWord::Last, TimeUnit::Weeks),
            ("下周", TimeWord::Next, TimeUnit::Weeks),
            ("上个月", TimeWord::Last, TimeUnit::Months),
            ("下个月", TimeWord::Next, TimeUnit::Months),
            ("明年", TimeWord::Next, TimeUnit::Years),
            ("昨晚", TimeWord::Day(-1), TimeUnit::Days),
        ],
        ..Time::NONE
    },
    quantities: &Quantities {
        unspaced_units: "个月|小时|分钟|美元|日元|欧元|公里|千米|厘米|公斤|千克|万元|亿元|人民币|毫秒|元|块|万|亿|秒|天|周|点|度|米|克|斤|吨|升|次|个|人|名|条|行|页|字|岁|折|倍",
        ..Quantities::NONE
    },
    refusal: &Refusal {
        openings: "抱歉|对不起|很抱歉|我无法|我不能|作为一个",
        declined: "帮助|总结|提供|完成|满足|回答|语言模型|协助",
        nothing: "无",
        ..Refusal::NONE
    },
    errors: "错误",
    secrets: "密码|密钥|口令",
    ..Tables::NONE
};

const IS_ORDER: When = W::Either(&[
    &[W::Has(C::Imperative)],
    &[W::Has(C::You)],
    &[W::Has(C::Must)],
    &[W::Has(C::Only)],
]);

const IS_ASKED: When = W::Either(&[
    &[W::Has(C::Imperative)],
    &[W::Has(C::Must)],
    &[W::Has(C::Need)],
    &[W::Has(C::Dont)],
    &[W::Has(C::MustNot)],
]);

const RULES: &[Rule] = &[
    Rule {
        kind: None,
        when: &[W::Has(C::Question)],
    },
    Rule {
        kind: Some(K::Deadline),
        when: &[W::Has(C::Deadline), W::Due],
    },
    Rule {
        kind: Some(K::Deadline),
        when: &[W::Has(C::Need), W::Phrase(C::By, &[T::DatePrecedes(6)])],
    },
    Rule {
        kind: Some(K::Budget),
        when: &[W::Number, W::Has(C::Budget)],
    },
    Rule {
        kind: Some(K::Budget),
        when: &[W::Number, IS_ASKED, W::Phrase(C::Cap, &[T::NoReportBefore])],
    },
    Rule {
        kind: Some(K::Prohibition),
        when: &[
            W::Lacks(C::OneShot),
            W::Phrase(
                C::MustNot,
                &[
                    T::NotIdle,
                    T::NoSubjectBefore,
                    T::NoReportBefore,
                    T::NobodyElse,
                ],
            ),
        ],
    },
    Rule {
        kind: Some(K::Prohibition),
        when: &[
            W::Lacks(C::OneShot),
            W::Phrase(C::Dont, &[T::OpensClause, T::NotIdle, T::NoReportBefore]),
        ],
    },
    Rule {
        kind: Some(K::Prohibition),
        when: &[
            W::Lacks(C::OneShot),
            W::Phrase(C::Avoid, &[T::OpensClause, T::NoReportBefore]),
        ],
    },
    Rule {
        kind: Some(K::Standing),
        when: &[
            IS_ORDER,
            W::Phrase(
                C::FromNow,
                &[T::OpensClause, T::NoReportBefore, T::NoSubjectAfter],
            ),
        ],
    },
    Rule {
        kind: Some(K::Standing),
        when: &[
            W::Either(&[&[W::Has(C::Imperative)], &[W::Has(C::Must)]]),
            W::Has(C::Need),
            W::Phrase(
                C::Every,
                &[T::OpensClause, T::NobodyElse, T::NoSubjectAfter],
            ),
        ],
    },
    Rule {
        kind: None,
        when: &[W::Has(C::OneShot)],
    },
    Rule {
        kind: Some(K::Obligation),
        when: &[W::Phrase(
            C::Must,
            &[
                T::NoSubjectBefore,
                T::NoReportBefore,
                T::NobodyElse,
                T::NotIdle,
            ],
        )],
    },
    Rule {
        kind: Some(K::Obligation),
        when: &[W::Phrase(C::Only, &[T::OpensClause, T::NoReportBefore])],
    },
    Rule {
        kind: Some(K::Obligation),
        when: &[
            W::Either(&[
                &[W::Phrase(C::Filler, &[T::OpensClause])],
                &[W::Has(C::You)],
            ]),
            W::Phrase(
                C::Always,
                &[
                    T::OpensClause,
                    T::NoSubjectBefore,
                    T::NotIdle,
                    T::NoReportBefore,
                ],
            ),
        ],
    },
    Rule {
        kind: Some(K::Obligation),
        when: &[
            W::Phrase(C::Imperative, &[T::OpensClause, T::NoReportBefore]),
            W::Has(C::Tongue),
            W::Has(C::Answer),
        ],
    },
    Rule {
        kind: Some(K::Permission),
        when: &[W::Has(C::Permission), W::Has(C::Change), W::Has(C::You)],
    },
];

#[rustfmt::skip]
const CUES: &[(Cue, &str)] = &[
    (C::MustNot, "永远不要|永远别|绝不要|绝不能|绝对不要|绝对不能|千万不要|千万别|切勿|请勿|严禁|禁止|不得|不许|不准|不允许|不可以|不应该|绝不|从此不要|不要再|别再"),
    (C::Dont, "不要|别|不能|请不要|勿"),
    (C::Must, "必须|务必|一定要|一律|必需"),
    (C::Always, "始终|总是|永远|每次都|一直"),
    (C::FromNow, "从现在开始|从现在起|从今以后|从今往后|从今天起|从今天开始|今后|以后|接下来的对话|在整个对话中|往后|此后"),
    (C::Only, "只用|只能|只使用|只许|仅用|仅使用|仅限|只可以|只准"),
    (C::Avoid, "避免|尽量不要"),
    (C::Imperative, "请|用|使用|回答|回复|保持|叫我|称呼|写|加上|检查|记住|给出|说明"),
    (C::Answer, "回答|回复|答复|跟我说|说"),
    (C::Tongue, "中文|英文|英语|德语|法语|日语|日文|俄语|西班牙语|普通话|简体|繁体|汉语"),
    (C::Every, "每次|每当|每一次|每个回答"),
    (C::Budget, "预算|花费"),
    (C::Cap, "不超过|不能超过|不要超过|不得超过|最多|不多于|上限|以内|以下|控制在|不高于"),
    (C::Under, "少于|低于|小于|至少|不少于"),
    (C::Deadline, "截止|期限|最后期限|交付日期|交稿|最晚|到期"),
    (C::By, "之前|以前|前"),
    (C::Need, "要|必须|需要|完成|交付|提交|上线|做好|交给|搞定|发布"),
    (C::Subject, "我|他|她|它|我们|他们|她们|人家|大家"),
    (C::You, "你|您|你们"),
    (C::Reported, "说过|他说|她说|告诉我|写着|提到|据说|报错|听说|文档说|文档里|里说|书上"),
    (C::OneShot, "先不要|先别|暂时|还不要|现在不要|这次|今天|现在别|还没|目前"),
    (C::Idle, "不要紧|不要脸|别人|别的|别处|别名|别墅|别担心|别客气|别急|别怕|别说了|别忘|别介意|不要担心|不要客气|不要着急|不要急|不要怕|不得不|不得了|不得而知|别难过|别生气|别提|别致|不要忘|不能不|必须尝|必须看看|必须试试|一定要尝|一定要来|一定要看|一定要试|别看|别样|别扭|别管|总是会"),
    (C::Filler, "请|也|都|就|并且|并|而且|但是|但|另外|还有|你|您|绝对|千万|麻烦|要|所以|和|还|再|同时"),
    (C::Permission, "可以|允许|不用再|不必再|没关系|不需要再"),
    (C::Change, "现在|改成|改为|不再|重新|还是|换成|了"),
    (C::Decision, "决定|我们用|我们就用|采用|选择了|选定|就选|敲定|确定用|说好|约定|定下来|改用|方案是|最终"),
    (C::Preference, "我喜欢|我更喜欢|我偏好|偏好|我不喜欢|我讨厌|我最喜欢|最喜欢|我想要|我爱|过敏|吃素|素食|我不吃|我不喝|习惯用|我希望|我宁愿"),
    (C::Negation, "不能|不要|不是|没有|不支持|不可以|无法|不再|不用|禁止|除了|别|不会|不行|从不|从来不|未"),
    (C::Question, "吗|什么|为什么|怎么|哪|谁|要不要|能不能|是不是|多少|呢|可不可以|会不会"),
];
