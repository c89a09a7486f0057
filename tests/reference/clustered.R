# A contrast of two conditions whose ratings share queries and annotators, with errors clustered one and two ways. Run: Rscript clustered.R
library(sandwich)
source("write.R")

RNGkind("Mersenne-Twister", "Inversion", "Rejection")
set.seed(20261121)
n <- 360
query <- rep(1:30, each = 12)
annotator <- c(replicate(30, sample(1:24, 12)))  # nobody rates a query twice
condition <- rep(0:1, n / 2)
lean <- rnorm(30)[query] + 0.7 * rnorm(24)[annotator] + 0.8 * condition
safe <- as.integer(lean + rlogis(n) > 0)
data <- data.frame(query, annotator, condition, safe)

contrast <- lm(safe ~ condition, data)
variance <- function(by, cadjust = TRUE) vcovCL(contrast, cluster = by, type = "HC0", cadjust = cadjust)[2, 2]

write_reference(
  "clustered.json",
  packages = "sandwich",
  data = list(list(query = query, annotator = annotator, condition = condition, safe = safe)),
  contrast = list(list(
    first_less_second = -unname(coef(contrast)[2]), by_item = sqrt(variance(interaction(query, condition))),
    two_way = sqrt(variance(query) + variance(annotator) - variance(seq_len(n), cadjust = FALSE))
  ))
)
