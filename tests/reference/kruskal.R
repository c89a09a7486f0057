# Kruskal-Wallis on 0/1 ratings, Dunn's test after it, and all pairs of proportions. Run: Rscript kruskal.R
suppressMessages(library(rstatix))
source("write.R")

corrections <- c("bonferroni", "holm", "BH", "BY")

one <- function(successes, sizes) {
  k <- length(sizes)
  rating <- unlist(Map(function(s, n) rep(c(1, 0), c(s, n - s)), successes, sizes))
  group <- factor(rep(seq_len(k), sizes))
  case <- list(successes = successes, sizes = sizes, df = k - 1, degenerate = length(unique(rating)) == 1)
  if (case$degenerate) return(case)
  whole <- kruskal.test(rating, group)
  case$H <- unname(whole$statistic)
  case$p <- whole$p.value
  case$log_p <- pchisq(case$H, k - 1, lower.tail = FALSE, log.p = TRUE)
  pairs <- t(combn(k, 2))
  case$pairs <- pairs
  after <- dunn_test(data.frame(rating = rating, group = group), rating ~ group, p.adjust.method = "none")
  stopifnot(all(as.integer(after$group1) == pairs[, 1]), all(as.integer(after$group2) == pairs[, 2]))
  case$dunn_z_rstatix <- as_array(after$statistic)
  case$dunn_p <- as_array(after$p)
  two <- apply(pairs, 1, function(ij) {
    suppressWarnings(prop.test(successes[ij], sizes[ij], correct = FALSE)$p.value)
  })
  case$prop_p <- as_array(two)
  for (how in corrections) {
    case[[paste0("dunn_p_", how)]] <- as_array(p.adjust(after$p, how))
    case[[paste0("prop_p_", how)]] <- as_array(p.adjust(two, how))
  }
  case
}

write_reference("kruskal.json", packages = "rstatix", cases = list(
  one(c(17, 5, 12, 8, 14), rep(21, 5)), one(c(19, 20, 21, 17, 20), rep(21, 5)), one(c(2, 0, 0, 0, 0), rep(21, 5)),
  one(c(13, 4, 9, 15, 3), c(20, 21, 19, 22, 20)), one(c(0, 3, 1, 6, 0), rep(20, 5)), one(c(30, 11, 25), c(40, 35, 38)),
  one(c(7, 12), c(15, 14)), one(c(250, 301, 275, 290), rep(420, 4)), one(c(1, 2, 0), c(3, 2, 4)),
  one(rep(21, 5), rep(21, 5)), one(c(0, 0, 0), c(4, 9, 7))
))
