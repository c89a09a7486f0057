"""The demo benchmark, loaded once for all tests of a process. No test changes it."""

import casewise

DEMO = casewise.load("demo")
