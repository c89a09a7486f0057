"""The storage of records: JSONL, benchmark folders, the published JSON, run folders, and the one long table."""

from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark_folder import read_benchmark, write_benchmark
from casewise.storage.published import read_published, write_published

__all__ = [
    "About",
    "Benchmark",
    "read_benchmark",
    "read_published",
    "write_benchmark",
    "write_published",
]
