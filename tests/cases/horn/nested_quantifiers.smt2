; expect: holds
; A variable that is quantified in the body is chosen for each premise: here there is none with y = x + 1 and y = x.
(set-logic HORN)
(declare-fun p ((_ BitVec 3)) Bool)
(assert (forall ((x (_ BitVec 3))) (=> (exists ((y (_ BitVec 3))) (and (= y (bvadd x #b001)) (= y x))) (p x))))
(assert (not (exists ((x (_ BitVec 3))) (p x))))
