# How every script here writes its cases: a line of JSON each, to 15 digits, with the versions that computed them.
library(jsonlite)

json <- function(value) {
  toJSON(value, auto_unbox = TRUE, digits = NA, na = "null", null = "null", matrix = "rowmajor")
}

# Each further argument is a list of cases, under its own name; the cases are numbered.
write_reference <- function(file, ..., packages = character()) {
  versions <- lapply(setNames(packages, packages), function(name) as.character(packageVersion(name)))
  parts <- list(...)
  lines <- lapply(names(parts), function(part) {
    cases <- parts[[part]]
    ids <- sprintf("%s-%02d", if (part == "cases") sub("\\.json$", "", file) else part, seq_along(cases))
    written <- mapply(function(id, case) json(c(list(id = id), case)), ids, cases)
    paste0(json(part), ": [\n", paste(written, collapse = ",\n"), "\n]")
  })
  meta <- paste0('"meta": ', json(c(list(R = as.character(getRversion())), versions)))
  writeLines(paste0("{\n", paste(c(meta, lines), collapse = ",\n"), "\n}"), file)
}

# A vector stays an array in JSON however short it is.
as_array <- function(x) I(unname(x))
