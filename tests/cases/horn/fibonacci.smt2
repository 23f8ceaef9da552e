; expect: violated
; Not linear: two premises of the relation that is defined. The Fibonacci numbers are 0, 1, 1, 2: number 3 is 2.
(set-logic HORN)
(declare-fun fib ((_ BitVec 2) (_ BitVec 2)) Bool)
(assert (fib #b00 #b00))
(assert (fib #b01 #b01))
(assert (forall ((n (_ BitVec 2)) (a (_ BitVec 2)) (b (_ BitVec 2)))
  (=> (and (fib n a) (fib (bvadd n #b01) b) (bvult n #b10)) (fib (bvadd n #b10) (bvadd a b)))))
(assert (forall ((a (_ BitVec 2))) (=> (and (fib #b11 a) (= a #b10)) false)))
