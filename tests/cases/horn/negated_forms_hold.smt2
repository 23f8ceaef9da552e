; expect: holds
; The same with two of three true, which is an even number of them.
(set-logic HORN)
(declare-fun p (Int) Bool)
(declare-fun q (Bool Bool Bool) Bool)
(assert (not (not (p 0))))
(assert (not (exists ((x Int)) (and (p x) (< x 4) (not (p (+ x 2)))))))
(assert (not (exists ((x Int) (a Bool) (b Bool) (c Bool)) (not (=> (and (p x) (= x 4) (xor a b c)) (q a b c))))))
(assert (forall ((a Bool) (b Bool) (c Bool)) (not (and (q a b c) a b (not c)))))
