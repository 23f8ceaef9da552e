//! Room `xtask`: Boolean families whose verdict follows from their construction.

use super::names;

/// Bebop's T(N).
///
/// # Paper
/// Bebop, Fig. 4: N + 1 procedures, 3N + 1 variables, four in scope anywhere. Cost should follow the four.
///
/// # Verdict
/// By induction from `levelN` up, every level flips `g` exactly once whatever it calls, so two calls of `level1`
/// give it back. `g` starts arbitrary: `reach` is reachable. Asked the other way round, with the first value of
/// `g` kept in `h`, label `never` is not.
pub(super) fn t(n: u64, safe: bool) -> String {
    let (keep, compare) = match safe {
        true => ("  decl h;\n  h := g;\n", "  if (g != h) then\n    never: skip;\n  fi\n"),
        false => ("", ""),
    };
    let mut source = format!(
        "decl g;\n\
         void main()\n\
         begin\n\
         {keep}  level1();\n  level1();\n  if (!g) then\n    reach: skip;\n  else\n    skip;\n  fi\n{compare}\
         end\n"
    );
    for level in 1..=n {
        let step = if level < n { format!("level{}()", level + 1) } else { "skip".to_owned() };
        source += &LEVEL.replace("LEVEL", &level.to_string()).replace("STEP", &step);
    }
    source
}

const LEVEL: &str = "\
void levelLEVEL()
begin
  decl a, b, c;
  if (g) then
    a, b, c := 0, 0, 0;
    while (!a | !b | !c) do
      if (!a) then
        a := 1;
      elsif (!b) then
        a, b := 0, 1;
      elsif (!c) then
        a, b, c := 0, 0, 1;
      else
        skip;
      fi
    od
  else
    STEP;
    STEP;
  fi
  g := !g;
end
";

/// A lock handed through a ring of N procedures, each told whether its caller holds it and telling whether it
/// does afterwards.
///
/// # Verdict
/// `held = locked` whenever a step begins or ends, in main too, and both `acquire` and `release` are called only
/// on the right side of it: no error. With the bug the last step releases and still says it holds the lock; the
/// steps above hand that up and main releases again.
pub(super) fn locks(n: u64, bug: bool) -> String {
    let mut source = LOCK.to_owned();
    for step in 1..=n {
        let next = if step < n { step + 1 } else { 1 };
        let forget = if bug && step == n { "" } else { "    held := 0;\n" };
        source += &format!(
            "bool step{step}(held)\n\
             begin\n  \
               if (!held & *) then\n    acquire();\n    held := 1;\n  fi\n  \
               while (*) do\n    held := step{next}(held);\n  od\n  \
               if (held & *) then\n    release();\n{forget}  fi\n  \
               return held;\n\
             end\n"
        );
    }
    source
}

const LOCK: &str = "\
decl locked;
void acquire()
begin
  if (locked) then
    SLIC_ERROR: skip;
  fi
  locked := 1;
end
void release()
begin
  if (!locked) then
    SLIC_ERROR: skip;
  fi
  locked := 0;
end
void main()
begin
  decl held;
  locked, held := 0, 0;
  held := step1(held);
  if (held) then
    release();
  fi
end
";

/// Many uninitialised globals, few of them read.
///
/// Measures whether cost follows what is read: enumerating all initial valuations is hopeless for 40 globals,
/// and those that are read meet in a parity, which decision diagrams like and enumeration does not.
///
/// # Verdict
/// `mix` adds the parity of the globals that are read, none of which changes; adding it twice gives `x` back.
pub(super) fn open(globals: u64, read: u64) -> String {
    let names = names("g", globals);
    let mut parity = "a".to_owned();
    for name in &names[..read as usize] {
        parity += &format!(" ^ {name}");
    }
    let all = names.join(", ");
    format!(
        "decl {all};\n\
         bool mix(a)\n\
         begin\n  return {parity};\nend\n\
         void main()\n\
         begin\n  \
           decl x, y, z;\n  \
           y := mix(x);\n  \
           z := mix(y);\n  \
           if (x != z) then\n    ERR: skip;\n  fi\n\
         end\n"
    )
}
