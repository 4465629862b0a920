//! The allocator of the wasm modules: the standard library's, behind a pointer that the compiler cannot see through.
//!
//! A release optimises the whole program at once, together with the standard library. The compiler then knows two things: a zeroed
//! allocation reads as zeros, and freeing a block reads the block's size from the word before it. It takes that word for one of
//! the zeros. A function that makes a `vec![0; n]` and drops it again then frees a block of size 0, and the module traps.
//! `black_box` keeps the two facts apart.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: Opaque = Opaque;

struct Opaque;

// SAFETY: every call goes to the standard library's allocator as it came.
unsafe impl GlobalAlloc for Opaque {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { System.alloc_zeroed(layout) }
    }

    // Never inlined: one call is also smaller than the code of a check and a release at every drop.
    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(black_box(block), layout) }
    }

    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe { System.realloc(black_box(block), layout, size) }
    }
}
