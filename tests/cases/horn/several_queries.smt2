; expect: violated
; Several queries mean one: the first cannot be derived, the second can, since q follows from p of true.
(set-logic HORN)
(declare-fun p (Bool) Bool)
(declare-fun q () Bool)
(assert (p true))
(assert (=> (p true) q))
(assert (=> (p false) false))
(assert (=> q false))
