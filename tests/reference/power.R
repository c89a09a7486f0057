# Power and sample size: one-way ANOVA, two proportions, chi-square. pwr's own root finder stops at 1.2e-4 of a person,
# so sizes are found here by a finer search on pwr's power. Run: Rscript power.R
library(pwr)
source("write.R")

size_for <- function(power, wanted, from) {
  uniroot(function(n) power(n) - wanted, c(from, 1e7), tol = 1e-10)$root
}

one_anova <- function(k, f, alpha, power) {
  at <- function(n) pwr.anova.test(k = k, n = n, f = f, sig.level = alpha)$power
  n <- 3
  while (at(n) < power) n <- n + 1
  list(k = k, f = f, alpha = alpha, power = power, n_per_group = n, N_total = n * k, df1 = k - 1, df2 = k * (n - 1),
       critical_F = qf(alpha, k - 1, k * (n - 1), lower.tail = FALSE), ncp = n * k * f^2, actual_power = at(n),
       power_at_n_minus_1 = at(n - 1))
}

one_two_proportion <- function(p1, p2, alpha, power) {
  h <- ES.h(p1, p2)
  at <- function(n) pwr.2p.test(h = h, n = n, sig.level = alpha)$power
  one_sided <- function(n) pwr.2p.test(h = abs(h), n = n, sig.level = alpha, alternative = "greater")$power
  n <- size_for(at, power, 2)
  list(p1 = p1, p2 = p2, alpha = alpha, power = power, h = h, n_two_sided = n, n_per_group = ceiling(n),
       actual_power = at(ceiling(n)), n_one_sided = size_for(one_sided, power, 2),
       power_prop_test_n = power.prop.test(p1 = p1, p2 = p2, power = power, sig.level = alpha, tol = 1e-10)$n)
}

one_chisq <- function(w, df, alpha, power) {
  at <- function(n) pwr.chisq.test(w = w, N = n, df = df, sig.level = alpha)$power
  n <- size_for(at, power, 1)
  list(w = w, df = df, alpha = alpha, power = power, N = n, N_ceil = ceiling(n), actual_power = at(ceiling(n)))
}

write_reference(
  "power.json",
  packages = "pwr",
  anova = list(
    one_anova(5, 0.4, 0.05, 0.8), one_anova(5, 0.4, 0.0125, 0.8), one_anova(5, 0.3, 0.05, 0.9),
    one_anova(2, 0.35, 0.05, 0.8), one_anova(2, 0.12, 0.01, 0.9), one_anova(3, 0.2, 0.05, 0.8),
    one_anova(4, 0.5, 0.0125, 0.8), one_anova(6, 0.15, 0.05, 0.95), one_anova(9, 0.6, 0.05, 0.95),
    one_anova(3, 1.1, 0.05, 0.8), one_anova(45, 0.1, 0.001, 0.8)
  ),
  two_proportion = list(
    one_two_proportion(0.45, 0.7, 0.05, 0.8), one_two_proportion(0.3, 0.5, 0.0125, 0.8),
    one_two_proportion(0.95, 0.8, 0.01, 0.9), one_two_proportion(0.5, 0.53, 0.05, 0.95),
    one_two_proportion(0.15, 0.65, 0.05, 0.8), one_two_proportion(0.02, 0.07, 0.05, 0.8)
  ),
  chisq = list(
    one_chisq(0.1, 4, 0.05, 0.8), one_chisq(0.45, 3, 0.05, 0.9), one_chisq(0.15, 12, 0.01, 0.95),
    one_chisq(0.3, 1, 0.05, 0.8)
  )
)
