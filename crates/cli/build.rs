//! Room `cli`: how the binary is linked.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is =
        |what: &str, value: &str| var(format!("CARGO_CFG_TARGET_{what}")).is_ok_and(|found| found == value);
    // At a fixed address nothing is relocated when the program starts, which otherwise touches all its tables: for a small
    // program a tenth of the time. All of it but the allocator is safe code.
    if is("OS", "linux") && is("ENV", "gnu") {
        println!("cargo::rustc-link-arg-bin=postbop=-no-pie");
    }
}
