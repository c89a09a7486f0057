# Fleiss' kappa with its z, and Krippendorff's alpha for names, from their definitions: kappa from the shares of
# agreeing pairs (Fleiss 1971, eq. 1-7; the error under no agreement is Fleiss, Nee and Landis 1979), alpha from the
# disagreement of every two ratings of an item and of any two ratings (Krippendorff 2011). Run: Rscript agreement.R
source("write.R")

fleiss <- function(ratings) {
  whole <- ratings[rowSums(is.na(ratings)) == 0, , drop = FALSE]
  values <- sort(unique(c(whole)))
  counts <- t(apply(whole, 1, function(row) sapply(values, function(v) sum(row == v))))
  if (length(values) == 1) return(list(fleiss_kappa = NA, fleiss_z = NA, fleiss_subjects_used = nrow(whole)))
  m <- ncol(whole); n <- nrow(whole)
  share <- colSums(counts) / (n * m)
  agreeing <- mean((rowSums(counts^2) - m) / (m * (m - 1)))
  chance <- sum(share^2)
  kappa <- (agreeing - chance) / (1 - chance)
  q <- 1 - share
  variance <- 2 / (sum(share * q)^2 * n * m * (m - 1)) * (sum(share * q)^2 - sum(share * q * (q - share)))
  list(fleiss_kappa = kappa, fleiss_z = kappa / sqrt(variance), fleiss_subjects_used = n)
}

alpha <- function(ratings) {
  paired <- ratings[rowSums(!is.na(ratings)) > 1, , drop = FALSE]
  observed <- 0
  for (i in seq_len(nrow(paired))) {
    row <- paired[i, !is.na(paired[i, ])]
    observed <- observed + sum(outer(row, row, "!=")) / (length(row) - 1)
  }
  every <- paired[!is.na(paired)]
  n <- length(every)
  expected <- sum(outer(every, every, "!=")) / (n - 1)
  if (expected == 0) NA else 1 - observed / expected
}

one <- function(rows) {
  ratings <- do.call(rbind, rows)
  c(list(ratings = ratings), fleiss(ratings), list(krippendorff_alpha_nominal = alpha(ratings)))
}

write_reference("agreement.json", cases = list(
  one(list(c(1, 1, 1, 0), c(0, 0, 1, 0), c(1, 1, 1, 1), c(0, 0, 0, 0), c(1, 0, 1, 0), c(1, 0, 0, 0), c(1, 1, 0, 1))),
  one(list(c(1, 2, 3), c(2, 2, 2), c(3, 3, 1), c(1, 1, NA), c(2, 3, 3), c(NA, NA, 2), c(1, 1, 1))),
  one(list(c(1, 1, 0, 1, 1, 0), c(0, NA, 0, 0, 1, 0), c(1, 1, 1, 1, 1, 1), c(0, 1, 1, 0, 0, 1), c(1, 0, NA, NA, 1, 1))),
  one(list(c(1, 0), c(0, 1), c(1, 1), c(0, 0), c(1, 0))),
  one(list(c(2, 2, 2), c(2, 2, 2)))
))
