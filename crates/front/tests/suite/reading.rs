//! Room `front`: one entry for every format, and the properties of what was read.

use crate::common::{codes, program};
use postbop_front::{File, Format, LARGEST, Options, properties, property, read};
use postbop_ir::{FileId, Id, Span, text};

const SYSTEM: &[u8] = b"2\nPDA 1 2\n0 1 -> 1 2\nPDA 3 3\n1 3 -> 1 -\n";

fn file<'s>(name: &'s str, bytes: &'s [u8]) -> File<'s> {
    File { name, bytes }
}

#[test]
fn every_format_comes_through_one_door() {
    let source = b"void main() begin assert(0); end";
    let reading = read([file("a.bp", source)], Options::default());
    assert_eq!(reading.format, Format::Program);
    let program = reading.program.expect("a program");
    let graph = postbop_ir::text::print(&program);
    let reading = read(graph.as_bytes(), Options::default());
    assert_eq!((reading.format, reading.text.as_str()), (Format::Graph, ""));
    assert_eq!(reading.program, Some(program));
    let files = [file("x/s.pds", SYSTEM), file("x/s.spec", b"1|2,-"), file("x/s.init", b"0|1,3")];
    let reading = read(files, Options::default());
    assert_eq!((reading.format, &reading.diagnostics[..]), (Format::Pushdown, &[][..]));
    assert_eq!((reading.text_of(FileId(1)), reading.text_of(FileId(2))), ("1|2,-", "0|1,3"));
    let program = reading.program.expect("a program");
    assert_eq!(program.threads().len(), 2);
    let start = program.prologue().map(|prologue| program.procs()[prologue].entry).expect("a prologue");
    let first = program.leaving(start)[0];
    assert_eq!(
        program.edges()[first].span,
        Span::of(FileId(2), 0, 5),
        "where it starts is said in the third file"
    );
}

#[test]
fn diagnostics_name_their_file() {
    let files = [file("s.pds", SYSTEM), file("s.init", b"0|1,3"), file("s.spec", b"1|2")];
    let reading = read(files, Options::default());
    let found: Vec<_> =
        reading.diagnostics.iter().map(|found| (found.span.file.0, found.code.text())).collect();
    assert_eq!(found, [(2, "E053")]);
    let foreign = read([file("a.bp", b""), file("b.bp", b"")], Options::default());
    assert_eq!((foreign.diagnostics[0].span.file.0, foreign.diagnostics[0].code.text()), (1, "E051"));
    let graph = read(b"postbop-ir 1\nproc p0\n", Options::default());
    assert_eq!(postbop_front::line_column(&graph.text, graph.diagnostics[0].span.start), (2, 1));
}

#[test]
fn what_is_too_large_is_not_read() {
    let zeros = vec![0; LARGEST + 1];
    for files in [[file("a.bp", &zeros)].as_slice(), &[file("s.pds", SYSTEM), file("s.init", &zeros)]] {
        let reading = read(files, Options::default());
        let [only] = &reading.diagnostics[..] else { panic!("{:?}", reading.diagnostics) };
        assert_eq!((only.code.text(), only.span.file.index()), ("E008", files.len() - 1));
    }
    assert!(postbop_front::format(&zeros, Options::default()).is_err());
}

#[test]
fn every_printed_name_finds_its_property() {
    let source = "decl a[2]; decl uint<2> i; void main() begin\n\
        assert(a[i]); assert(a[0]);\n\
        assert(a[0]);\n ERROR: skip; end";
    let program = program(source);
    let all = properties(&program, source);
    let names: Vec<_> = all.iter().map(|property| property.name.as_str()).collect();
    assert_eq!(names, ["bounds:2", "assert:2:1", "assert:2:15", "assert:3", "ERROR"]);
    for known in &all {
        assert_eq!(property(&program, source, &known.name).as_ref(), Ok(known));
    }
    let both = property(&program, source, "assert:2").expect("two assertions");
    assert_eq!(both.locs(), [all[1].locs()[0], all[2].locs()[0]]);
    assert!(property(&program, source, "assert:9").is_err_and(|message| message.contains("no property")));
    assert!(
        property(&program, source, "main:ERROR").is_ok() && property(&program, source, "main:X").is_err()
    );
    // Without a source the names come from the graph, and they too are found.
    let bare = properties(&program, "");
    assert!(bare.iter().all(|known| property(&program, "", &known.name).as_ref() == Ok(known)));
}

#[test]
fn a_check_that_is_declared_twice_is_one_property_with_one_location() {
    let graph = text::print(&program("void main() begin decl x; assert(x); end"));
    let line = graph.lines().find(|line| line.starts_with("check ")).expect("an assertion");
    let twice = graph.replace(line, &format!("{line}\n{line}"));
    let once = properties(&text::parse(&graph).expect("a graph"), "");
    assert_eq!((once.len(), once[0].locs().len(), once[0].guard.len()), (1, 1, 1));
    assert_eq!(properties(&text::parse(&twice).expect("a graph"), ""), once);
}

#[test]
fn many_threads_are_refused_before_they_fill_the_memory() {
    let found = |count: usize, symbols: usize| {
        let rules: String = (1..symbols).map(|at| format!("0 {at} -> 1 {}\n", at + 1)).collect();
        let system = format!("2\n{}", format!("PDA 1 {symbols}\n{rules}").repeat(count));
        let all = |top: usize| vec![top.to_string(); count].join(",");
        let (init, spec) = (format!("0|{}", all(1)), format!("1|{}\n", all(2)).repeat(symbols));
        let files = [
            file("s.pds", system.as_bytes()),
            file("s.init", init.as_bytes()),
            file("s.spec", spec.as_bytes()),
        ];
        let reading = read(files, Options::default());
        let codes: Vec<_> = reading.diagnostics.iter().map(|found| found.code.text()).collect();
        (codes, reading.program.is_some())
    };
    assert_eq!(found(256, 2), (vec![], true));
    assert_eq!(found(5_000, 2), (vec!["E008"], false));
    assert_eq!(found(250, 100), (vec!["E008"], false), "each thread would ask about all others 100 times");
    let blocks = |count| "thread begin void main() begin skip; end end\n".repeat(count);
    assert!(codes(&blocks(256)).is_empty());
    assert_eq!(codes(&blocks(257)), ["E008"]);
}

#[test]
fn a_procedure_named_init_is_special_only_if_nothing_calls_it() {
    let calls = |source: &str| {
        let program = program(source);
        let main = program.procs().ids().find(|proc| program.procs()[*proc].name == "main").expect("main");
        crate::common::edges(&program, main).matches("init()").count()
    };
    assert_eq!(calls("void init() begin skip; end void main() begin skip; end"), 1);
    assert_eq!(calls("bool init() begin return 1; end void main() begin skip; end"), 1);
    assert_eq!(calls("void init(x) begin skip; end void main() begin skip; end"), 0);
    assert_eq!(calls("void init() begin skip; end void main() begin init(); end"), 1);
    assert!(codes("void init() begin main(); end void main() begin skip; end").contains(&"E030"));
}
