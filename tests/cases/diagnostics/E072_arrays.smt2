; expect: error E072
(set-logic HORN)
(declare-fun p ((Array Int Int)) Bool)
