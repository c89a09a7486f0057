# Adjusted p values, with ties, zeros, ones and tests that do not count. Run: Rscript multiplicity.R
source("write.R")

one <- function(p) {
  found <- lapply(c(bonferroni = "bonferroni", holm = "holm", benjamini_hochberg = "BH", benjamini_yekutieli = "BY"),
                  function(how) as_array(p.adjust(p, how)))
  list(p = as_array(p), adjusted = found)
}

write_reference("multiplicity.json", cases = list(
  one(0.03), one(c(0.01, 0.04, 0.03)), one(c(0.02, 0.02, 0.9, 0.02, 0.9)), one(c(0, 1e-300, 0.5, 1)),
  one(c(0.001, NA, 0.04, 0.012, NA, 0.2, 0.04)), one((1:20 / 21)^3)
))
