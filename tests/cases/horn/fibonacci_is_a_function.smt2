; expect: holds
; No number has two Fibonacci numbers: up to 3 each is derived once, and the constraint keeps n from going round.
(set-logic HORN)
(declare-fun fib ((_ BitVec 2) (_ BitVec 2)) Bool)
(assert (fib #b00 #b00))
(assert (fib #b01 #b01))
(assert (forall ((n (_ BitVec 2)) (a (_ BitVec 2)) (b (_ BitVec 2)))
  (=> (and (fib n a) (fib (bvadd n #b01) b) (bvult n #b10)) (fib (bvadd n #b10) (bvadd a b)))))
(assert (forall ((n (_ BitVec 2)) (a (_ BitVec 2)) (b (_ BitVec 2)))
  (=> (and (fib n a) (fib n b) (distinct a b)) false)))
