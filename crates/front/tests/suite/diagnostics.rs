//! Room `front`: every problem has a case, and every case reports what it says.

use crate::common;
use postbop_front::diagnostic::{ALL, LIMIT};
use std::collections::BTreeSet;
use std::path::Path;

fn expected(source: &str) -> BTreeSet<String> {
    let mark = |line| {
        str::strip_prefix(line, "// expect: ")
            .or(str::strip_prefix(line, "# expect: "))
            .or(str::strip_prefix(line, "; expect: "))
            .or(str::strip_prefix(line, "/* expect: ").and_then(|line| line.strip_suffix(" */")))
    };
    let lines = source.lines().filter_map(mark);
    let code = |line: &str| {
        let (severity, code) = line.split_once(' ').expect("a severity and a code");
        assert_eq!(severity == "error", code.starts_with('E'), "{line}");
        code.trim().to_owned()
    };
    lines.map(code).collect()
}

/// The marks `//~ E012` of a source: the codes that must be reported on that line.
fn marks(source: &str) -> Vec<(usize, String)> {
    let mark = |(at, line): (usize, &str)| {
        let codes = line.split_once("//~")?.1.split_whitespace();
        Some(codes.map(|code| (at + 1, code.to_owned())).collect::<Vec<_>>())
    };
    let mut marks: Vec<_> = source.lines().enumerate().filter_map(mark).flatten().collect();
    marks.sort();
    marks
}

#[test]
fn cases_report_exactly_where_they_say() {
    for file in common::files(&common::root().join("tests/cases/diagnostics"), "bp") {
        let source = std::fs::read_to_string(&file).expect("a case");
        let wanted = marks(&source);
        let reading = common::reading(&source);
        let lines = postbop_front::LineIndex::new(&reading.text);
        let place = |d: &postbop_front::Diagnostic| {
            (lines.line_column(&reading.text, d.span.start).0, d.code.text().to_owned())
        };
        let mut found: Vec<_> = reading.diagnostics.iter().map(place).collect();
        found.sort();
        if !wanted.is_empty() {
            assert_eq!(found, wanted, "{}: {:#?}", file.display(), reading.diagnostics);
        }
    }
}

/// The codes that a case expects: those that were found, and the one that it is named after.
fn as_expected(file: &Path, source: &str, found: BTreeSet<String>) -> BTreeSet<String> {
    let wanted = expected(source);
    let name = file.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(wanted.contains(&name[..4]), "{name} does not expect the code it is named after");
    assert_eq!(found, wanted, "{name}");
    wanted
}

#[test]
fn cases_report_exactly_what_they_say() {
    let mut covered = BTreeSet::new();
    for file in common::files(&common::root().join("tests/cases/diagnostics"), "bp") {
        let source = std::fs::read_to_string(&file).expect("a case");
        let found = common::codes(&source).into_iter().map(str::to_owned).collect();
        covered.extend(as_expected(&file, &source, found));
    }
    for file in common::files(&common::root().join("tests/cases/diagnostics"), "pds") {
        let source = std::fs::read_to_string(&file).expect("a case");
        if postbop_front::moped::is_moped(&source) {
            let (_, diagnostics) = postbop_front::moped::read(&source);
            let found = diagnostics.iter().map(|diagnostic| diagnostic.code.text().to_owned()).collect();
            covered.extend(as_expected(&file, &source, found));
            continue;
        }
        let reading = common::system(&file);
        let parts = [Some(&reading.system), reading.init.as_ref(), reading.spec.as_ref()];
        let all = parts.into_iter().flatten().flat_map(|part| &part.diagnostics);
        let found = all.map(|diagnostic| diagnostic.code.text().to_owned()).collect();
        covered.extend(as_expected(&file, &reading.system.text, found));
    }
    for file in common::files(&common::root().join("tests/cases/diagnostics"), "smt2") {
        let source = std::fs::read_to_string(&file).expect("a case");
        let (program, diagnostics) = postbop_front::horn::read(&source);
        assert!(program.is_none(), "{}", file.display());
        let found = diagnostics.iter().map(|diagnostic| diagnostic.code.text().to_owned()).collect();
        covered.extend(as_expected(&file, &source, found));
    }
    // A graph has no comments: the name of the file says what is expected.
    for file in common::files(&common::root().join("tests/cases/diagnostics"), "ir") {
        let reading = postbop_front::read(&std::fs::read(&file).expect("a case"), Default::default());
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let found: Vec<_> = reading.diagnostics.iter().map(|diagnostic| diagnostic.code.text()).collect();
        assert_eq!(found, [&name[..4]]);
        covered.insert(name[..4].to_owned());
    }
    // What a formula gets, the formulas of the command line's suite are there to show.
    for file in common::files(&common::root().join("tests/cases/formulas"), "fix") {
        let source = std::fs::read_to_string(&file).expect("a case");
        let codes: Vec<_> =
            source.lines().filter_map(|line| line.strip_prefix("// expect: error ")).collect();
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(
            codes.iter().all(|code| name.starts_with(code)),
            "{name} does not expect the code it is named after"
        );
        covered.extend(codes.into_iter().map(str::to_owned));
    }
    for ending in ["ltl", "monitor", "hoa"] {
        for file in common::files(&common::root().join("tests/cases/temporal"), ending) {
            let source = std::fs::read_to_string(&file).expect("a case");
            let found = crate::temporal::diagnostics(ending, &source);
            let found = found.iter().map(|diagnostic| diagnostic.code.text().to_owned()).collect();
            covered.extend(as_expected(&file, &source, found));
        }
    }
    let missing: Vec<_> = ALL.iter().filter(|code| !covered.contains(code.text())).collect();
    assert!(missing.is_empty(), "codes without a case: {missing:?}");
}

#[test]
fn programs_of_others_have_no_errors() {
    for file in common::corpus() {
        let source = std::fs::read(&file).expect("a file");
        let reading = postbop_front::read(&source, Default::default());
        let errors: Vec<_> = reading.diagnostics.iter().filter(|d| d.is_error()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", file.display());
        let program = reading.program.unwrap_or_else(|| panic!("{}: no program", file.display()));
        assert_eq!(program.threads().len() > 1, reading.concurrent.is_some(), "{}", file.display());
        common::assert_valid(&program);
    }
}

#[test]
fn places_and_advice() {
    let source = "decl counter;\nvoid main() begin\n  count3r := T; count3r := F;\nend";
    let reading = common::reading(source);
    let [only] = &reading.diagnostics[..] else { panic!("{:?}", reading.diagnostics) };
    assert_eq!(postbop_front::line_column(&reading.text, only.span.start), (3, 3));
    assert_eq!(&source[only.span.start as usize..only.span.end as usize], "count3r");
    assert_eq!(only.hint.as_deref(), Some("did you mean `counter`?"));
}

#[test]
fn a_jump_to_another_procedure_says_where_the_label_is() {
    let reading = common::reading("void f() begin inside: skip; end void main() begin goto inside; end");
    let [only] = &reading.diagnostics[..] else { panic!("{:?}", reading.diagnostics) };
    assert_eq!(only.notes.len(), 1);
    assert!(only.notes[0].1.contains('f'));
}

#[test]
fn a_broken_declaration_does_not_make_its_variables_unknown() {
    assert_eq!(common::codes("decl a b, c; void main() begin b := c; end"), ["E004"]);
    assert_eq!(common::codes("void f( begin skip; end void main() begin f(); end"), ["E004"]);
}

#[test]
fn independent_errors_are_all_reported() {
    let source =
        "decl x; void main() begin x := ; goto nowhere; x := 2; y := x; f(); if then x := ; fi x := T T; end";
    let reading = common::reading(source);
    let found: Vec<_> = reading.diagnostics.iter().map(|d| d.code.text()).collect();
    assert_eq!(found, ["E004", "E015", "E022", "E011", "E013", "E004", "E004", "E004"]);
}

#[test]
fn diagnostics_are_in_the_order_of_the_source_and_few() {
    let body: String = (0..1000).map(|i| format!("x{i} := ; y{i} := T;\n")).collect();
    let reading = common::reading(&format!("void main() begin {body} end"));
    assert!(reading.diagnostics.len() <= LIMIT + 1);
    let starts: Vec<_> = reading.diagnostics.iter().map(|d| d.span.start).collect();
    assert!(starts[..LIMIT].is_sorted());
}
