; expect: error E071
(set-logic HORN)
(declare-fun p (Bool) Bool)
(declare-fun q (Bool) Bool)
(assert (forall ((x Bool)) (or (p x) (q x))))
