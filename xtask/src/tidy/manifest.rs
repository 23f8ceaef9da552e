//! Room `xtask`: style rules for manifests.

use super::{Breach, File};

/// Which of our own crates each room may depend on. Rooms not listed are free.
const MAY_USE: [(&str, &[&str]); 5] = [
    ("crates/ir/", &[]),
    ("crates/kit/", &[]),
    ("crates/front/", &["postbop-ir", "postbop-kit"]),
    ("crates/validate/", &["postbop-ir"]),
    ("crates/engine/", &["postbop-ir", "postbop-kit", "postbop-front", "postbop-validate"]),
];

pub(super) fn check(file: &File<'_>) -> Vec<Breach> {
    let mut breaches = unjustified(file);
    breaches.extend(layering(file));
    breaches
}

/// The lines of the dependency tables, with their numbers.
fn dependencies<'a>(file: &File<'a>) -> Vec<(usize, &'a str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.trim_end_matches(']').ends_with("dependencies");
        } else if inside && line.contains('=') && !line.starts_with('#') {
            found.push((at + 1, line));
        }
    }
    found
}

/// Every dependency on a crate that is not ours says why, on its own line.
fn unjustified(file: &File<'_>) -> Vec<Breach> {
    let reasonless = |line: &str| {
        let (dependency, reason) = line.split_once('#').unwrap_or((line, ""));
        !dependency.contains("path =") && !dependency.contains("workspace") && reason.trim().is_empty()
    };
    let found = dependencies(file).into_iter().filter(|(_, line)| reasonless(line));
    found.map(|(at, _)| file.breach(at, "a dependency without a reason")).collect()
}

fn layering(file: &File<'_>) -> Vec<Breach> {
    let Some((_, allowed)) = MAY_USE.iter().find(|(room, _)| file.path.starts_with(room)) else {
        return Vec::new();
    };
    let name = |line: &'_ str| line.split(['.', '=', ' ']).next().unwrap_or("").to_owned();
    let ours = dependencies(file).into_iter().map(|(at, line)| (at, name(line)));
    ours.filter(|(_, name)| name.starts_with("postbop") && !allowed.contains(&name.as_str()))
        .map(|(at, name)| file.breach(at, format!("this room may not depend on {name}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_give_their_reason() {
        let text = "[workspace.dependencies]\nours = { path = \"a\" }\nx = \"1\"   # for x\ny = \"1\"\n\
                    [package]\nname = \"z\"\n[dependencies]\nz.workspace = true\n";
        let found = unjustified(&File { path: "Cargo.toml", text });
        assert_eq!(found.iter().map(|breach| breach.line).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn rooms_depend_downwards() {
        let text = "[dependencies]\npostbop-ir.workspace = true\npostbop-kit = { path = \"../kit\" }\n";
        let breaches = |path| layering(&File { path, text }).len();
        assert_eq!(breaches("crates/ir/Cargo.toml"), 2);
        assert_eq!(breaches("crates/kit/Cargo.toml"), 2);
        assert_eq!(breaches("crates/validate/Cargo.toml"), 1);
        assert_eq!(breaches("crates/front/Cargo.toml"), 0);
        assert_eq!(breaches("crates/engine/Cargo.toml"), 0);
        assert_eq!(breaches("crates/cli/Cargo.toml"), 0);
    }
}
