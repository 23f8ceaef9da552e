; expect: holds
; x counts up to at most 10 in steps of 1, y follows at twice the speed: y is 2x, so it is even, and never 7.
(set-logic HORN)
(declare-fun inv (Int Int) Bool)
(assert (inv 0 0))
(assert (forall ((x Int) (y Int)) (=> (and (inv x y) (< x 10)) (inv (+ x 1) (+ y 2)))))
(assert (forall ((x Int) (y Int)) (=> (and (inv x y) (= (mod y 2) 1)) false)))
