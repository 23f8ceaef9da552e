; expect: violated
; The form of fixed-point engines: variables are declared once, and the query names a relation. With x false, a and then b are derived.
(declare-rel a (Bool))
(declare-rel b ())
(declare-var x Bool)
(rule (a false))
(rule (=> (and (a x) (not x)) b) second)
(query b)
