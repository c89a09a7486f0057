# A crossed mixed model of these ratings: safe or not, by condition, with queries, queries under a condition, and
# annotators drawn at random. Needs lme4. Run: Rscript mixed_model.R, in this folder.
#
#   logit P(safe) = condition + query + query:condition + annotator
#
# Written for each planned contrast, first less second: the difference of logits with Wald's interval and p, corrected
# over the contrasts, and the difference of safe rates over all such queries and annotators, with its interval.
suppressPackageStartupMessages(library(lme4))

ratings <- read.csv("ratings.csv", colClasses = c(rep("character", 3), "integer"))
contrasts <- list(CONTRASTS)
correction <- "CORRECTION"
level <- LEVEL

ratings$condition <- factor(ratings$condition, levels = unique(c(unlist(contrasts), ratings$condition)))
model <- glmer(
  safe ~ 0 + condition + (1 | query) + (1 | query:condition) + (1 | annotator),
  data = ratings, family = binomial, control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 1e5))
)
b <- fixef(model)
names(b) <- levels(ratings$condition)
V <- as.matrix(vcov(model))
tau <- sqrt(sum(sapply(VarCorr(model), function(part) part[1, 1])))
expected <- function(f) integrate(function(z) f(z) * dnorm(z), -8, 8, rel.tol = 1e-8)$value
rate <- function(logit) expected(function(z) plogis(logit + tau * z))
slope <- function(logit) expected(function(z) dlogis(logit + tau * z))
z <- qnorm((1 + level) / 2)

rows <- lapply(contrasts, function(pair) {
  of <- match(pair, names(b))
  weight <- replace(numeric(length(b)), of, c(1, -1))
  d <- sum(weight * b)
  error <- sqrt(drop(weight %*% V %*% weight))
  by_rate <- replace(numeric(length(b)), of, c(slope(b[of[1]]), -slope(b[of[2]])))
  difference <- rate(b[of[1]]) - rate(b[of[2]])
  rate_error <- sqrt(drop(by_rate %*% V %*% by_rate))
  data.frame(
    first = pair[1], second = pair[2], logit = d, logit_error = error, logit_low = d - z * error, logit_high = d + z * error,
    p = 2 * pnorm(-abs(d / error)), difference = difference, error = rate_error,
    ci_low = difference - z * rate_error, ci_high = difference + z * rate_error
  )
})
found <- do.call(rbind, rows)
found$p_corrected <- p.adjust(found$p, correction)
write.csv(found, "contrasts.csv", row.names = FALSE)
print(summary(model))
print(found)
if (isSingular(model)) message("a variance is estimated as 0: read its part as small, not as absent")
