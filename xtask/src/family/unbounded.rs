//! Room `xtask`: families over unbounded integers, and the quicksort that exists over both kinds.

/// Quicksort of an array of `size` integers: unbounded ones, or so many bits wide.
///
/// # Paper
/// The paper on Moped and number decision diagrams, Fig. 3. What differs: the last swap is with `a[r]`, without which nothing is sorted, and an index that
/// has run below the array is an error instead of a run without end.
///
/// # Verdict
/// With the bug, `j` has no lower end: it runs below the array if the pivot, which is the last element, is less than all others, which an arbitrary array allows. Without it, `i` stops at
/// the pivot at the latest and `j` at `l`; then everything before `i` is at most the pivot, and everything behind it at least, so the array is sorted.
pub(super) fn qsort(size: u64, bits: Option<u64>, bug: bool) -> String {
    let int = bits.map_or_else(|| "int".to_owned(), |bits| format!("int<{bits}>"));
    let guard = if bug { "if (j < 0) then fail(); return; fi" } else { "if (j <= l) then goto low; fi" };
    let unsorted: String =
        (1..size).map(|at| format!("  if (a[{}] > a[{at}]) then\n    fail();\n  fi\n", at - 1)).collect();
    QSORT
        .replace("INT", &int)
        .replace("SIZE", &size.to_string())
        .replace("LAST", &(size - 1).to_string())
        .replace("GUARD", guard)
        .replace("UNSORTED", &unsorted)
}

const QSORT: &str = "\
decl INT a[SIZE];
void fail()
begin
  ERR: skip;
end
void qs(INT l, INT r)
begin
  decl INT i, j, v, t;
  if (r <= l) then
    return;
  fi
  i := l - 1; j := r; v := a[r];
  while (1) do
    i := i + 1;
    while (a[i] < v) do
      i := i + 1;
    od
    while (1) do
      j := j - 1;
      GUARD
      if (a[j] <= v) then goto low; fi
    od
    low: skip;
    if (i >= j) then goto done; fi
    t := a[i]; a[i] := a[j]; a[j] := t;
  od
  done: skip;
  t := a[i]; a[i] := a[r]; a[r] := t;
  qs(l, i - 1);
  qs(i + 1, r);
end
void main()
begin
  qs(0, LAST);
UNSORTEDend
";

/// McCarthy's function with `bound` for 100, of any number.
///
/// # Verdict
/// Up to the bound it is the bound less 9, whatever the number. With the bug that is denied of one number.
pub(super) fn mccarthy(bound: u64, bug: bool) -> String {
    let wrong = if bug { format!("r = {bound} - 9") } else { format!("r != {bound} - 9") };
    format!(
        "int f(int n)\nbegin\n  decl int r;\n  if (n > {bound}) then\n    return n - 10;\n  fi\n  \
         r := f(n + 11);\n  r := f(r);\n  return r;\nend\n\
         void main()\nbegin\n  decl int n, r;\n  assume(n <= {bound});\n  r := f(n);\n  \
         if ({wrong}) then\n    ERR: skip;\n  fi\nend\n"
    )
}

/// Ackermann's function of two small numbers, the first of them at most 3.
///
/// # Verdict
/// Its values for 0 to 3 are n + 1, n + 2, 2n + 3 and 2^(n + 3) - 3. The safe variant denies another value, the one with the bug this one.
pub(super) fn ackermann(m: u64, n: u64, bug: bool) -> String {
    let value = [n + 1, n + 2, 2 * n + 3, (1 << (n + 3)) - 3][m as usize];
    let wrong = if bug { "r =" } else { "r !=" };
    format!(
        "int ack(int m, int n)\nbegin\n  decl int r;\n  if (m = 0) then\n    return n + 1;\n  fi\n  \
         if (n = 0) then\n    r := ack(m - 1, 1);\n    return r;\n  fi\n  \
         r := ack(m, n - 1);\n  r := ack(m - 1, r);\n  return r;\nend\n\
         void main()\nbegin\n  decl int r;\n  r := ack({m}, {n});\n  if ({wrong} {value}) then\n    ERR: skip;\n  fi\nend\n"
    )
}

/// Even and odd by mutual recursion, of any number from `least` on.
///
/// # Verdict
/// A number and its successor are never both even; with the bug, a number and the one after its successor may be.
pub(super) fn parity(least: u64, bug: bool) -> String {
    let step = if bug { 2 } else { 1 };
    let proc = |name: &str, zero: u32, other: &str| {
        format!(
            "bool {name}(int n)\nbegin\n  decl bool r;\n  if (n = 0) then\n    return {zero};\n  fi\n  \
             r := {other}(n - 1);\n  return r;\nend\n"
        )
    };
    format!(
        "{}{}void main()\nbegin\n  decl int n;\n  decl bool e, o;\n  assume(n >= {least});\n  \
         e := even(n);\n  o := even(n + {step});\n  if (e & o) then\n    ERR: skip;\n  fi\nend\n",
        proc("even", 1, "odd"),
        proc("odd", 0, "even")
    )
}

/// Multiplication by a constant, by addition, of any number that is not negative.
///
/// # Verdict
/// The result is the product. With the bug, it is denied that ten times the constant is a result.
pub(super) fn times(factor: u64, bug: bool) -> String {
    let wrong = if bug { format!("r = {factor} * 10") } else { format!("r != {factor} * x") };
    format!(
        "int times(int x)\nbegin\n  decl int r;\n  if (x <= 0) then\n    return 0;\n  fi\n  \
         r := times(x - 1);\n  return r + {factor};\nend\n\
         void main()\nbegin\n  decl int x, r;\n  assume(x >= 0);\n  r := times(x);\n  \
         if ({wrong}) then\n    ERR: skip;\n  fi\nend\n"
    )
}

/// A loop that adds 2 to 0 any number of times.
///
/// # Verdict
/// It comes to `number` exactly if that is even.
pub(super) fn twos(number: u64) -> String {
    format!(
        "void main()\nbegin\n  decl int i := 0;\n  while (*) do\n    i := i + 2;\n  od\n  \
         if (i = {number}) then\n    ERR: skip;\n  fi\nend\n"
    )
}

/// So many unbounded parameters, through a recursion of any depth.
///
/// # Verdict
/// The last parameter is handed on as it is, and returned; with the bug, it is denied that it is.
pub(super) fn carry(count: u64, bug: bool) -> String {
    let params = super::names("int p", count);
    let inputs = super::names("x", count);
    let mut args = super::names("p", count);
    args[0] = "p0 - 1".into();
    let wrong = if bug { "=" } else { "!=" };
    let last = count - 1;
    format!(
        "int f({})\nbegin\n  decl int r;\n  if (p0 <= 0) then\n    return p{last};\n  fi\n  r := f({});\n  return r;\nend\n\
         void main()\nbegin\n  decl int {}, r;\n  r := f({});\n  if (r {wrong} x{last}) then\n    ERR: skip;\n  fi\nend\n",
        super::list(&params),
        super::list(&args),
        super::list(&inputs),
        super::list(&inputs)
    )
}

/// A chain of `n` procedures, each of which hands its parameter to the next one and adds one to what comes back.
///
/// # Verdict
/// The last one hands it back as it is, so `n - 1` is added in all, to any number; with the bug, `n` is expected.
pub(super) fn relay(n: u64, bug: bool) -> String {
    let last = n - 1;
    let mut text: String = (0..last)
        .map(|at| {
            format!("int p{at}(int x)\nbegin\n  decl int r;\n  r := p{}(x);\n  return r + 1;\nend\n", at + 1)
        })
        .collect();
    let added = if bug { n } else { last };
    text += &format!("int p{last}(int x)\nbegin\n  return x;\nend\n");
    text += "void main()\nbegin\n  decl int x, r;\n  r := p0(x);\n";
    text += &format!("  if (r != x + {added}) then\n    ERR: skip;\n  fi\nend\n");
    text
}
