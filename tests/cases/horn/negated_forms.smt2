; expect: violated
; Clauses as negated formulas: what is negated within what is assumed follows. p has 0, 2 and 4; q has three Booleans of which one or three are true.
(set-logic HORN)
(declare-fun p (Int) Bool)
(declare-fun q (Bool Bool Bool) Bool)
(assert (not (not (p 0))))
(assert (not (exists ((x Int)) (and (p x) (< x 4) (not (p (+ x 2)))))))
(assert (not (exists ((x Int) (a Bool) (b Bool) (c Bool)) (not (=> (and (p x) (= x 4) (xor a b c)) (q a b c))))))
(assert (forall ((a Bool) (b Bool) (c Bool)) (not (and (q a b c) a b c))))
