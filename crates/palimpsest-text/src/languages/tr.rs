//! Turkish.

use super::tables::{Tables};

pub(super) const TABLES: Tables = Tables {
    letters: &[("ğış", 0.3)],
    small_words: "ve bir bu da de için ile ne çok daha ben sen o biz siz gibi ama kadar var yok mi mı olarak sonra değil \
             her hiç asla sadece lütfen şey ki en olan bana sana onun nasıl neden zaman şimdi önce evet hayır ya",
    ..Tables::NONE
};
