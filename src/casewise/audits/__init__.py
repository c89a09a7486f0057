"""What a benchmark's numbers hide: findings with evidence, baselines, and subsets worth judging apart."""

from casewise.audits.audit import Audit, audit
from casewise.audits.subject import CODES, AuditOptions, Finding, Part

__all__ = ["CODES", "Audit", "AuditOptions", "Finding", "Part", "audit"]
