# A crossed mixed model of two conditions whose ratings share queries and, within a condition, annotators, fitted by lme4.
# Run: Rscript mixed_model.R
suppressPackageStartupMessages(library(lme4))
source("write.R")

RNGkind("Mersenne-Twister", "Inversion", "Rejection")
set.seed(20261122)
queries <- 80
people <- 32  # under each condition
each <- 20
annotator <- rep(seq_len(2 * people), each = each)
condition <- as.integer(annotator > people)
query <- c(replicate(2 * people, sample(queries, each)))
under <- matrix(rnorm(2 * queries, sd = 0.5), queries)
logit <- rnorm(queries)[query] + under[cbind(query, condition + 1)] + 0.8 * rnorm(2 * people)[annotator] - 0.7 * condition
safe <- as.integer(logit + rlogis(length(logit)) > 0)
data <- data.frame(query, annotator, condition = factor(condition), safe)

model <- glmer(
  safe ~ 0 + condition + (1 | query) + (1 | query:condition) + (1 | annotator), data = data, family = binomial,
  control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 1e5))
)
b <- unname(fixef(model))
V <- as.matrix(vcov(model))
tau <- sqrt(sum(sapply(VarCorr(model), function(part) part[1, 1])))
# Marginal rates by a grid of normal quantiles, not by the integral of the script that the tests hold against these values.
grid <- qnorm((seq_len(200000) - 0.5) / 200000)
rate <- sapply(b, function(one) mean(plogis(one + tau * grid)))
slope <- sapply(b, function(one) mean(dlogis(one + tau * grid))) * c(1, -1)

write_reference(
  "mixed_model.json",
  packages = "lme4",
  data = list(list(query = query, annotator = annotator, condition = condition, safe = safe)),
  cases = list(list(
    logit = b[1] - b[2], logit_error = sqrt(V[1, 1] + V[2, 2] - 2 * V[1, 2]),
    difference = rate[1] - rate[2], error = sqrt(drop(slope %*% V %*% slope))
  ))
)
