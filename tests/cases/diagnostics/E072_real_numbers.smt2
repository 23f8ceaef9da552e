; expect: error E072
(set-logic HORN)
(declare-fun p (Int) Bool)
(declare-fun f (Int) Int)
(assert (forall ((x Int)) (=> (= x 1.5) (p x))))
(push 1)
