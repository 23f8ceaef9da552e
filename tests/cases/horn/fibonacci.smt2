; expect: violated
; Not linear: two premises of the relation that is defined. fib 0 = 0, fib 1 = 1, 1, 2, 3, 5, 8: the sixth is 8.
(set-logic HORN)
(declare-fun fib ((_ BitVec 4) (_ BitVec 4)) Bool)
(assert (fib #x0 #x0))
(assert (fib #x1 #x1))
(assert (forall ((n (_ BitVec 4)) (a (_ BitVec 4)) (b (_ BitVec 4)))
  (=> (and (fib n a) (fib (bvadd n #x1) b) (bvult n #x8)) (fib (bvadd n #x2) (bvadd a b)))))
(assert (forall ((a (_ BitVec 4))) (=> (and (fib #x6 a) (= a #x8)) false)))
