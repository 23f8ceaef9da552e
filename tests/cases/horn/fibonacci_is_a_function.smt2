; expect: holds
; No number has two Fibonacci numbers: up to 9 each is derived once, and the constraint keeps n from going round.
(set-logic HORN)
(declare-fun fib ((_ BitVec 4) (_ BitVec 4)) Bool)
(assert (fib #x0 #x0))
(assert (fib #x1 #x1))
(assert (forall ((n (_ BitVec 4)) (a (_ BitVec 4)) (b (_ BitVec 4)))
  (=> (and (fib n a) (fib (bvadd n #x1) b) (bvult n #x8)) (fib (bvadd n #x2) (bvadd a b)))))
(assert (forall ((n (_ BitVec 4)) (a (_ BitVec 4)) (b (_ BitVec 4)))
  (=> (and (fib n a) (fib n b) (distinct a b)) false)))
