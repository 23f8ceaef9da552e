//! Room `xtask`: families over bounded integers.

/// The buggy quicksort of Moped's examples, with both inputs arbitrary.
///
/// # Paper
/// VERA, section 5.1 and Fig. 6, on `quicksort_error.pds`. The array is gone; whether `a[hi] > piv` is a choice,
/// except at the first comparison, where `piv` is `a[right]` and `hi` is `right`. The bug: nothing keeps the
/// right part smaller than the whole, so some runs never end.
///
/// # Verdict
/// Some run ends, so `DONE` is reachable: `left >= right` returns at once. The measure is whether an engine finds
/// that without computing what else 2^(2 BITS) inputs do.
pub(super) fn quicksort(bits: u64) -> String {
    QUICKSORT.replace("BITS", &bits.to_string())
}

const QUICKSORT: &str = "\
void qs(uint<BITS> left, uint<BITS> right)
begin
  decl uint<BITS> lo, hi;
  if (left >= right) then
    return;
  fi
  lo, hi := left, right;
  while (lo <= hi) do
    if (*) then
      assume(hi != right | lo != left);
      hi := hi - 1;
    else
      lo := lo + 1;
    fi
  od
  qs(left, hi);
  qs(lo, right);
end
void main()
begin
  decl uint<BITS> left, right;
  qs(left, right);
  DONE: skip;
end
";

/// A recursion of exactly `depth` nested calls, counted down in an integer just wide enough.
///
/// # Verdict
/// `BOTTOM` is reached by the call that gets 0, with all others pending: a trace needs them all. In the safe
/// variant each call returns one more than the next, so main gets `depth` back and `ERR` is unreachable: the
/// summary of every depth is needed.
pub(super) fn deep(depth: u64, safe: bool) -> String {
    let bits = u64::BITS - depth.leading_zeros();
    let check =
        if safe { format!("  if (m != {depth}) then\n    ERR: skip;\n  fi\n") } else { String::new() };
    format!(
        "uint<{bits}> dive(uint<{bits}> n)\n\
         begin\n  \
           decl uint<{bits}> m;\n  \
           if (n = 0) then\n    BOTTOM: return 0;\n  fi\n  \
           m := dive(n - 1);\n  \
           return m + 1;\n\
         end\n\
         void main()\n\
         begin\n  \
           decl uint<{bits}> m;\n  \
           m := dive({depth});\n\
         {check}\
         end\n"
    )
}
