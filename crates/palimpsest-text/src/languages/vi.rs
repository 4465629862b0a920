//! Vietnamese.

use super::tables::{Tables};

pub(super) const TABLES: Tables = Tables {
    letters: &[("đơư", 0.3)],
    small_words: "và của là có không được cho một những với các này trong đã để khi như người tôi bạn thì cũng rất nhiều \
             nhưng từ sẽ ra đến phải nếu vì hãy luôn làm gì về đó chỉ đừng hơn còn",
    ..Tables::NONE
};
