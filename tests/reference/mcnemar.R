# McNemar's test: asymptotic, with the continuity correction, exact and mid-p. Run: Rscript mcnemar.R
source("write.R")

one <- function(b, c) {
  table <- matrix(c(100, c, b, 100), 2)
  plain <- mcnemar.test(table, correct = FALSE)
  exact <- binom.test(b, b + c)$p.value
  list(b = b, c = c, chi2 = unname(plain$statistic), p_asymptotic = plain$p.value,
       p_corrected = mcnemar.test(table, correct = TRUE)$p.value, p_exact = exact,
       p_mid = exact - dbinom(min(b, c), b + c, 0.5))
}

write_reference("mcnemar.json", cases = list(
  one(31, 18), one(12, 10), one(55, 27), one(0, 6), one(3, 140), one(411, 365), one(1, 0)
))
