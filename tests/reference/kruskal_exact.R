# The exact p of Kruskal-Wallis on 0/1 ratings: every way to deal the safe ratings to the groups, each weighed by the
# number of permutations that lead to it; statistics are compared as whole numbers. Run: Rscript kruskal_exact.R
source("write.R")

common_multiple <- function(a, b) {
  x <- a; y <- b
  while (y != 0) { r <- x %% y; x <- y; y <- r }
  a / x * b
}

one <- function(successes, sizes) {
  total <- sum(successes)
  scale <- Reduce(common_multiple, sizes) / sizes
  first <- as.matrix(expand.grid(lapply(sizes[-length(sizes)], function(n) 0:n)))
  dealt <- cbind(first, total - rowSums(first))
  dealt <- dealt[dealt[, ncol(dealt)] >= 0 & dealt[, ncol(dealt)] <= sizes[length(sizes)], , drop = FALSE]
  ways <- exp(rowSums(sapply(seq_along(sizes), function(g) lchoose(sizes[g], dealt[, g]))) - lchoose(sum(sizes), total))
  extreme <- drop(dealt^2 %*% scale) >= sum(successes^2 * scale)
  stopifnot(abs(sum(ways) - 1) < 1e-11)
  rating <- unlist(Map(function(s, n) rep(c(1, 0), c(s, n - s)), successes, sizes))
  whole <- kruskal.test(rating, rep(seq_along(sizes), sizes))
  list(successes = successes, sizes = sizes, H = unname(whole$statistic), p_chi2 = whole$p.value,
       p_exact = sum(sort(ways[extreme])))
}

write_reference("kruskal_exact.json", cases = list(
  one(c(17, 5, 12, 8, 14), rep(21, 5)), one(c(2, 0, 0, 0, 0), rep(21, 5)), one(c(0, 3, 1, 6, 0), rep(20, 5)),
  one(c(1, 0, 0, 0, 0), rep(20, 5)), one(c(20, 18, 2, 15, 9), rep(21, 5)), one(c(4, 1, 0, 2), rep(9, 4)),
  one(c(5, 2, 8, 1), c(9, 7, 11, 8)), one(c(3, 9, 4), c(10, 12, 11)), one(c(8, 2), c(10, 13))
))
