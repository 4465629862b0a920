//! Classes whose code is loaded later.
//!
//! wasm-bindgen exports a class from the main module, so its methods there do nothing but call through a table: an object
//! of the class's trait, which only a part can make. What the trait's methods lead to is that part's.

/// The methods of a class: a trait for who does the work, and exports that call it. A class is a struct whose only field is
/// a box of the trait.
macro_rules! calls {
    (
        $(#[$about:meta])*
        $class:ident by $calls:ident {
            $(
                $(#[$($attribute:tt)*])*
                fn $name:ident($($(#[$of:meta])* $given:ident: $type:ty),* $(,)?) $(-> $is:ty)?;
            )*
        }
    ) => {
        $(#[$about])*
        pub(crate) trait $calls {
            $( fn $name(&self $(, $given: $type)*) $(-> $is)?; )*
        }

        #[wasm_bindgen]
        impl $class {
            $(
                $(#[$($attribute)*])*
                pub fn $name(&self $(, $(#[$of])* $given: $type)*) $(-> $is)? {
                    self.0.$name($($given),*)
                }
            )*
        }

        impl std::fmt::Debug for $class {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($class)).finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use calls;
