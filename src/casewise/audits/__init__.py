"""Audits of a benchmark: findings with evidence, baselines, and subsets worth judging apart."""

from casewise.audits.audit import Audit, audit
from casewise.audits.subject import AuditOptions, AuditPart, Finding, kinds

__all__ = ["Audit", "AuditOptions", "AuditPart", "Finding", "audit", "kinds"]
