# Two proportions: the z test with the pooled share, and Wald's interval of the difference. Run: Rscript ztest.R
source("write.R")

one <- function(x1, n1, x2, n2) {
  degenerate <- x1 + x2 == 0 || x1 + x2 == n1 + n2
  found <- suppressWarnings(prop.test(c(x1, x2), c(n1, n2), correct = FALSE))
  z <- if (degenerate) NA else sign(x1 / n1 - x2 / n2) * sqrt(unname(found$statistic))
  list(
    x1 = x1, n1 = n1, x2 = x2, n2 = n2, diff = x1 / n1 - x2 / n2, degenerate = degenerate, z = z,
    p_two_sided = 2 * pnorm(-abs(z)), log_p_two_sided = log(2) + pnorm(-abs(z), log.p = TRUE),
    p_greater = pnorm(z, lower.tail = FALSE), p_less = pnorm(z), ci95_diff_wald = as_array(found$conf.int[1:2])
  )
}

write_reference("ztest.json", cases = list(
  one(9, 21, 15, 21), one(0, 21, 21, 21), one(4210, 9450, 4470, 9450), one(100, 200, 50, 100), one(17, 23, 230, 410),
  one(3, 1000, 40, 1000), one(1, 2, 1, 3), one(21, 21, 16, 21), one(6100, 9450, 2900, 9450), one(0, 50, 0, 80),
  one(50, 50, 80, 80)
))
