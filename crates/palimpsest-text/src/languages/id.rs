//! Indonesian.

use super::tables::{Tables};

pub(super) const TABLES: Tables = Tables {
    small_words: "yang dan di ini itu dengan untuk tidak dari dalam akan pada juga saya kamu anda ke karena ada bisa oleh \
             sudah atau seperti kami kita mereka hanya jangan selalu lebih harus apa bagaimana tolong kalau jika \
             telah adalah belum lagi saja",
    ..Tables::NONE
};
