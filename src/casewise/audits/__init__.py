"""Audits of a benchmark: findings with evidence, baselines, and subsets worth judging apart."""

from casewise.audits.audit import Audit, audit
from casewise.audits.subject import AuditOptions, Finding, Part, kinds

__all__ = ["Audit", "AuditOptions", "Finding", "Part", "audit", "kinds"]
