; expect: error E071
(set-logic HORN)
(declare-fun p (Bool) Bool)
(assert (forall ((x Bool)) (=> (and x (not (p x)) (p (not x))) (p x))))
(assert (forall ((x Bool)) (=> (or (p x) (and (p x) (not (p x)))) false)))
