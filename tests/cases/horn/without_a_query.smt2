; expect: holds
; Nothing says that anything is false, so all relations may have everything.
(set-logic HORN)
(declare-fun p (Bool) Bool)
(assert (forall ((x Bool)) (p x)))
(check-sat)
